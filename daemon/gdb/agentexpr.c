/* SPDX-License-Identifier: MIT */
/*
 * agentexpr.c: `maint agent-eval`. The command takes the scope of frame 0, whatever is selected, so the
 * frame's own address is given with -at; code without debug information has no scope, and there the
 * plain command still finds globals.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/agentexpr.h"
#include "gdb/rewrite.h"

/* A refusal by the agent compiler: valid all the same, unless it is no value at all. */
static int not_compilable(struct err *e)
{
	if (e->kind == ERR_USAGE && strstr(e->text, "type as an expression"))
		return -1;
	if (e->kind == ERR_USAGE || e->kind == ERR_NOT_FOUND) {
		e->kind = ERR_NOT_FOUND;
		return GDB_NOT_COMPILABLE;
	}
	return -1;
}

static int list(struct gdb *g, const char *expr, pid_t tid, int frame, uint64_t scope_pc,
		char **listing, struct err *e)
{
	cleanup_free char *at = str_fmt("maint agent-eval -at *0x%" PRIx64 ",%s", scope_pc, expr);
	cleanup_free char *plain = str_fmt("maint agent-eval %s", expr);
	struct err first = {0};

	if (scope_pc && !gdb_console_at(g, tid, frame, 0, at, listing, &first))
		return 0;
	if (!gdb_console_at(g, tid, frame, 0, plain, listing, e))
		return 0;
	/* The reason that takes the frame's scope into account is the better one. */
	if (first.text[0] && !gdb_dead(g))
		*e = first;
	return not_compilable(e);
}

static int list_or_rewrite(struct gdb *g, struct gdb_expr *x, pid_t tid, int frame, struct err *e)
{
	int r = list(g, x->compiled, tid, frame, x->regs.scope_pc, &x->listing, e);
	char *rewritten;

	if (r <= 0)
		return r;
	rewritten = gdb_rewrite(g, x->compiled, tid, frame);
	if (!rewritten)
		return r;
	free(x->compiled);
	x->compiled = rewritten;
	return list(g, x->compiled, tid, frame, x->regs.scope_pc, &x->listing, e);
}

/* What `print` takes and a compiled expression cannot mean: state of GDB's, or of this moment. */
static int check_text(const char *expr, struct err *e)
{
	if (!expr[strspn(expr, " \t\r\n")])
		return err_set(e, ERR_USAGE, "an empty expression");
	if (strpbrk(expr, "\r\n"))
		return err_set(e, ERR_USAGE, "an expression has to be one line");
	if (strchr(expr, '$')) {
		err_set(e, ERR_NOT_FOUND, "registers and convenience variables belong to one moment");
		return GDB_NOT_COMPILABLE;
	}
	return 0;
}

static int compile(struct gdb *g, struct gdb_expr *x, pid_t tid, int frame, struct err *e)
{
	int r = gdb_type_of(g, x->text, tid, frame, &x->type, e);

	if (r)
		return r;
	if (gdb_frame_regs(g, tid, frame, &x->regs, e))
		return -1;
	return list_or_rewrite(g, x, tid, frame, e);
}

/* Compiles `how` (a format with the expression in it) but tells the type of expr. */
static int compile_as(struct gdb *g, const char *expr, const char *how, pid_t tid, int frame,
		      struct gdb_expr *out, struct err *e)
{
	struct gdb_expr x = {0};
	int r = check_text(expr, e);

	if (r < 0)
		return r;
	x.text = xstrdup(expr);
	x.compiled = str_fmt("%s(%s)", how, expr);
	if (!*how)
		str_set(&x.compiled, "%s", expr);
	if (r > 0) {
		struct err syntax;
		int t = gdb_type_of(g, expr, tid, frame, &x.type, &syntax);

		if (t < 0) {
			*e = syntax;
			r = -1;
		}
	} else {
		r = compile(g, &x, tid, frame, e);
	}
	if (r) {
		gdb_expr_fini(&x);
		return r;
	}
	*out = x;
	return 0;
}

int gdb_expr_compile(struct gdb *g, const char *expr, pid_t tid, int frame, struct gdb_expr *out,
		     struct err *e)
{
	return compile_as(g, expr, "", tid, frame, out, e);
}

int gdb_expr_compile_address(struct gdb *g, const char *expr, pid_t tid, int frame,
			     struct gdb_expr *out, struct err *e)
{
	return compile_as(g, expr, "&", tid, frame, out, e);
}

void gdb_expr_fini(struct gdb_expr *x)
{
	free(x->text);
	free(x->compiled);
	free(x->listing);
	gdb_type_fini(&x->type);
	*x = (struct gdb_expr){0};
}
