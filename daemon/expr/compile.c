/* SPDX-License-Identifier: MIT */
/*
 * compile.c: `maint agent-eval`. The command uses the scope of frame 0, whatever is selected; so it is given the
 * frame's source line with -at, so that the right types are found. A line may have code in several places: then the
 * bytecode must be the same for all of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/casts.h"
#include "expr/compile.h"
#include "expr/rewrite.h"

#define INLINED_MAX 16 /* functions inlined in one another */

/* The agent compiler has refused the expression. It may be valid all the same, except if it has no value at all. */
static int not_compilable(struct err *e)
{
	if (gdb_reason_of(e) == GDB_IS_TYPE)
		return -1;
	if (e->kind == ERR_USAGE || e->kind == ERR_NOT_FOUND) {
		e->kind = ERR_NOT_FOUND;
		return EXPR_NOT_COMPILABLE;
	}
	return -1;
}

/* Cuts out to its first scope's instructions; -1 when another scope has other instructions. */
static int take_first_scope(char *listing)
{
	const char *first = strstr(listing, "Reg mask:"), *next;
	char *end = first ? strstr(first, "\nScope:") : NULL;
	size_t len;

	if (!first)
		return -1;
	first += strcspn(first, "\n");
	len = end ? (size_t)(end - first) : strlen(first);
	for (const char *p = end; p; p = strstr(p + 1, "\nScope:")) {
		next = strstr(p, "Reg mask:");
		if (!next)
			return -1;
		next += strcspn(next, "\n");
		if (strncmp(next, first, len))
			return -1;
	}
	memmove(listing, first, len);
	listing[len] = '\0';
	return 0;
}

/* Does GDB know the line? If only a part that was inlined is left of a line, GDB says that there is no such line. */
static bool is_line(struct gdb *g, pid_t tid, int frame, const char *at)
{
	cleanup_free char *cmd = str_fmt("maint agent-eval %s1", at), *out = NULL;
	struct err ignored;

	return !gdb_console_at(g, tid, frame, 0, cmd, &out, &ignored);
}

/*
 * line: "-at FILE:LINE," for the frame's code, or for the frame into which it was inlined, which must be in the same
 * file or at least in the same unit; "" if the code has no source.
 */
int expr_place_init(struct expr_place *p, struct gdb *g, pid_t tid, int frame, struct err *e)
{
	char *line = NULL;
	struct gdb_frame *f;
	size_t n, i = (size_t)frame;

	*p = (struct expr_place){.tid = tid, .frame = frame};
	if (gdb_backtrace(g, tid, frame + 1 + INLINED_MAX, &f, &n, e))
		return -1;
	for (; !line && i < n && f[i].addr == f[frame].addr && f[i].fullname && f[i].line; i++) {
		line = str_fmt("-at \"%s\":%d,", f[i].fullname, f[i].line);
		if (!is_line(g, tid, frame, line)) {
			free(line);
			line = NULL;
		}
	}
	p->line = line ? line : xstrdup("");
	gdb_frames_free(f, n);
	return gdb_check(g, e);
}

void expr_place_fini(struct expr_place *p)
{
	free(p->line);
	p->line = NULL;
}

/* Has GDB compile a text whose names are resolved. As expr_compile. */
static int to_bytecode(struct gdb *g, const char *resolved, const struct expr_place *at, struct expr_code *x,
		       struct err *e)
{
	cleanup_free char *cmd = str_fmt("maint agent-eval %s%s", at->line, resolved), *listing = NULL;

	if (gdb_console_at(g, at->tid, at->frame, 0, cmd, &listing, e))
		return not_compilable(e);
	if (take_first_scope(listing))
		err_set(e, ERR_NOT_FOUND, "it means different things in the copies of this code");
	else if (strstr(listing, " reg "))
		err_set(e, ERR_NOT_FOUND, "it uses registers");
	else if (!agent_assemble(listing, &x->code, &x->len, e))
		return 0;
	e->kind = ERR_NOT_FOUND;
	return EXPR_NOT_COMPILABLE;
}

/*
 * Refuses what `print` accepts, but what has no meaning in a compiled expression: state of GDB's own, or of this
 * moment.
 */
static int check_text(const char *expr, struct err *e)
{
	static const char *const tags[] = {"struct ", "union ", "class ", "enum "};

	expr += strspn(expr, " \t");
	if (!*expr)
		return err_set(e, ERR_USAGE, "an empty expression");
	if (strpbrk(expr, "\r\n"))
		return err_set(e, ERR_USAGE, "an expression has to be one line");
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (str_starts(expr, tags[i]))
			return err_set(e, ERR_USAGE, "a type, not an expression: %.200s", expr);
	if (strchr(expr, '$')) {
		err_set(e, ERR_NOT_FOUND, "registers and convenience variables belong to one moment");
		return EXPR_NOT_COMPILABLE;
	}
	return 0;
}

/*
 * Finds the expression's type, and resolves the expression. If a function without debug information is compared, GDB
 * 13's `whatis` refuses what `print` accepts: then the resolved form has the type.
 */
static int type_and_resolve(struct gdb *g, const char *expr, const struct expr_place *at, struct expr_code *x,
			    char **resolved, struct err *e)
{
	int r = expr_type_of(g, expr, at->tid, at->frame, &x->type, e);
	struct err other = {0};

	if (!r)
		return expr_rewrite(g, expr, at->tid, at->frame, at->line, resolved, &x->locals, e);
	if (r < 0 && e->kind != ERR_USAGE)
		return r;
	if (expr_rewrite(g, expr, at->tid, at->frame, at->line, resolved, &x->locals, &other))
		return r;
	return expr_type_of(g, *resolved, at->tid, at->frame, &x->type, &other) ? r : 0;
}

/*
 * GDB 13 compiles the name of a type, which gives nothing useful; print refuses it. A text of these characters only
 * contains no call or assignment, so `print` changes nothing.
 */
static int check_no_type(struct gdb *g, const char *expr, pid_t tid, int frame, struct err *e)
{
	cleanup_free char *value = NULL;
	struct err why;

	if (expr[strspn(expr, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ *:")])
		return 0;
	if (gdb_eval(g, expr, tid, frame, 0, &value, &why) < 0) {
		*e = why;
		return -1;
	}
	return 0;
}

/* As to_bytecode, but also finds members of structs and unions without a name. */
static int to_bytecode_with_members(struct gdb *g, const char *resolved, const struct expr_place *at,
				    struct expr_code *x, struct err *e)
{
	cleanup_free char *placed = NULL;
	struct err ignored;
	int r = to_bytecode(g, resolved, at, x, e);

	if (r != EXPR_NOT_COMPILABLE || !strstr(e->text, "find member named") ||
	    expr_place_members(g, resolved, at->tid, at->frame, &placed, &ignored))
		return gdb_check(g, e) ? -1 : r;
	return to_bytecode(g, placed, at, x, e);
}

/*
 * Compiles the expression. If `number` is set, and it is a floating-point number or a 128-bit integer, its address is
 * compiled.
 */
static int compile(struct gdb *g, const char *expr, bool number, const struct expr_place *at, struct expr_code *x,
		   struct err *e)
{
	cleanup_free char *resolved = NULL, *address = NULL;
	int r = check_text(expr, e);

	if (r < 0)
		return r;
	if (r > 0) {
		struct err syntax;

		if (expr_type_of(g, expr, at->tid, at->frame, &x->type, &syntax) >= 0)
			return r;
		*e = syntax;
		return -1;
	}
	r = type_and_resolve(g, expr, at, x, &resolved, e);
	if (r)
		return r;
	if (check_no_type(g, expr, at->tid, at->frame, e))
		return -1;
	if (number && (expr_type_is_floating(&x->type) || expr_type_is_wide(&x->type)))
		address = str_fmt("&(%s)", resolved);
	return to_bytecode_with_members(g, address ? address : resolved, at, x, e);
}

static int compile_as(struct gdb *g, const char *expr, bool number, const struct expr_place *at, struct expr_code *out,
		      struct err *e)
{
	cleanup_free char *spelled = NULL;
	int r = expr_spell_casts(g, expr, at, &spelled, e);

	*out = (struct expr_code){0};
	if (!r)
		r = compile(g, spelled ? spelled : expr, number, at, out, e);
	if (r)
		expr_code_fini(out);
	return r;
}

int expr_compile(struct gdb *g, const char *expr, const struct expr_place *at, struct expr_code *out, struct err *e)
{
	return compile_as(g, expr, false, at, out, e);
}

int expr_compile_number(struct gdb *g, const char *expr, const struct expr_place *at, struct expr_code *out,
			struct err *e)
{
	return compile_as(g, expr, true, at, out, e);
}

void expr_code_fini(struct expr_code *x)
{
	free(x->code);
	expr_type_fini(&x->type);
	*x = (struct expr_code){0};
}
