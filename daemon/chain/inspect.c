/* SPDX-License-Identifier: MIT */
/* inspect.c: see inspect.h. */
#include "chain/inspect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/heap_walk.h"
#include "expr/text.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"

#define STACK 80 /* frames that are examined and shown */
#define VARIABLES 200 /* the most variables of a frame */
#define LOOK_MS 40u /* the cost of opening a state; see cursor.h */

/* ---- opening ---- */

/* Makes a copy of the thread that moves, for GDB: nothing of the recorder is active in it. */
static int copy_for_gdb(struct explain *x, pid_t *copy, struct err *e)
{
	return (!x->no_code && cursor_go_inside(&x->t, e)) || segment_copy(&x->t.in.seg, &x->t.in.now, copy, e) ? -1
														: 0;
}

static void find_copying(struct inspect *p)
{
	static const char *const names[] = {"memcpy", "memmove", "mempcpy", "memset", "strcpy",	 "stpcpy", "strncpy",
					    "strcat", "strncat", "bcopy",   "bzero",  "wmemset", "wmemcpy"};
	const char *f = inspect_function(p, 0);

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		p->to_copy |= strstr(f, names[i]) != NULL;
}

/* If the innermost frame has no name, libc's debug file is read, which may have one. */
static int name_library(struct inspect *p, struct err *e)
{
	uint64_t addr = p->frames[p->user].addr;
	cleanup_free char *func = p->frames[p->user].func ? xstrdup(p->frames[p->user].func) : NULL;
	struct gdb *g = p->x->g;
	size_t user = 0;

	gdb_frames_free(p->frames, p->nframes);
	p->frames = NULL;
	p->nframes = 0;
	if (gdb_debug_files(g, true, e) || gdb_backtrace(g, 0, STACK, &p->frames, &p->nframes, e))
		return -1;
	stack_mend_lines(g, p->frames, p->nframes);
	/* the user still means the frame at the same address of the same function */
	while (user < p->nframes && !(p->frames[user].addr == addr && str_eq(p->frames[user].func, func)))
		user++;
	p->user = user < p->nframes ? (int)user : 0;
	return gdb_debug_files(g, false, e);
}

int inspect_open(struct inspect *p, struct explain *x, struct err *e)
{
	memset(p, 0, sizeof(*p));
	p->x = x;
	x->t.work += LOOK_MS;
	p->at = (struct timeline_point){.event = nav_total(&x->nav)};
	if ((!x->no_code && cursor_where(&x->t, &p->at, e)) || copy_for_gdb(x, &p->copy, e))
		return -1;
	p->thread = show_thread(&x->nav.t, p->copy, x->t.in.seg.thread, x->t.in.seg.tid);
	/* stop signals hold the copy, and do not concern a call */
	if (gdb_attach(x->g, p->copy, e) || gdb_console(x->g, "handle SIGSTOP SIGCONT nostop noprint nopass", NULL, e))
		return -1;
	p->backtrace = show_stack_top(x->g, 0, STACK, &p->location, e);
	if (!p->backtrace || gdb_backtrace(x->g, 0, STACK, &p->frames, &p->nframes, e))
		return -1;
	stack_mend_lines(x->g, p->frames, p->nframes);
	p->user = (int)stack_user_frame(p->frames, p->nframes);
	if (p->nframes && !p->frames[0].func && name_library(p, e))
		return -1;
	find_copying(p);
	return 0;
}

void inspect_close(struct inspect *p)
{
	struct err ignored;

	if (!p->x) /* it was never opened */
		return;
	if (gdb_target(p->x->g) && !gdb_dead(p->x->g))
		gdb_detach(p->x->g, &ignored);
	target_snap_kill(p->copy);
	gdb_frames_free(p->frames, p->nframes);
	json_decref(p->thread);
	json_decref(p->location);
	json_decref(p->backtrace);
	p->copy = 0;
	p->frames = NULL;
	p->nframes = 0;
	p->thread = p->location = p->backtrace = NULL;
}

void inspect_look_at(struct inspect *p, int level)
{
	json_decref(p->location);
	p->location = show_location_of(&p->frames[level]);
	p->user = level;
}

const json_t *inspect_row(const struct inspect *p, size_t level)
{
	const char *first = json_string_value(json_object_get(json_array_get(p->backtrace, 0), "pc"));
	size_t hidden = 0;
	uint64_t pc;

	if (!first || str_u64(first, 0, 0, UINT64_MAX, &pc))
		return NULL;
	while (hidden < p->nframes && p->frames[hidden].addr != pc) /* frames of the recorder */
		hidden++;
	return level < hidden ? NULL : json_array_get(p->backtrace, level - hidden);
}

void inspect_look_past(struct inspect *p, uint64_t number, bool only)
{
	size_t level = (size_t)p->user;

	while (number && level + 1 < p->nframes && p->frames[level + 1].fullname &&
	       chain_has_argument(inspect_row(p, level), number, only))
		level++;
	if (level > (size_t)p->user)
		inspect_look_at(p, (int)level);
}

static bool is_frame_of(const json_t *frame, const json_t *location)
{
	return json_equal(json_object_get(frame, "function"), json_object_get(location, "function")) &&
	       json_equal(json_object_get(frame, "line"), json_object_get(location, "line"));
}

json_t *inspect_location_past(const json_t *backtrace, json_t *location, uint64_t number)
{
	struct gdb_frame frame = {0};
	const json_t *f;
	size_t k = 0, own;

	while (k < json_array_size(backtrace) && !is_frame_of(json_array_get(backtrace, k), location))
		k++;
	for (own = k; chain_has_argument(json_array_get(backtrace, k), number, true); k++)
		if (!json_is_string(json_object_get(json_array_get(backtrace, k + 1), "file")))
			break;
	if (k == own)
		return location;
	f = json_array_get(backtrace, k);
	frame.func = (char *)json_string_value(json_object_get(f, "function"));
	frame.fullname = (char *)json_string_value(json_object_get(f, "file"));
	frame.line = (int)json_integer_value(json_object_get(f, "line"));
	json_decref(location);
	return show_location_of(&frame);
}

static char *copy_of(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void inspect_step(struct inspect *p, enum step_role role, const char *expression, const char *before, const char *after,
		  const char *fmt, ...)
{
	struct explain *x = p->x;
	struct step s = {
		.role = role,
		.at_end = !p->at.pc,
		.at = p->at,
		.expression = copy_of(expression),
		.before = copy_of(before),
		.after = copy_of(after),
		.thread = json_incref(p->thread),
		.location = json_incref(p->location),
		.backtrace = json_incref(p->backtrace),
	};
	va_list ap;

	va_start(ap, fmt);
	s.words = str_vfmt(fmt, ap);
	va_end(ap);
	chain_add(&x->chain, &s);
	op_progress(x->ctx, 0.35 + 0.6 * (double)x->chain.n / (double)(x->depth + 1), "following the failure back");
}

/* ---- frames and values ---- */

const char *inspect_function(const struct inspect *p, size_t level)
{
	const char *name = level < p->nframes && p->frames[level].func ? p->frames[level].func : "?";

	/* glibc's name for the function in its own calls */
	return str_starts(name, "__GI_") ? name + strlen("__GI_") : name;
}

int inspect_find(const struct inspect *p, const char *const *functions)
{
	for (size_t i = 0; i < p->nframes; i++)
		for (const char *const *f = functions; *f; f++) {
			const char *name = inspect_function(p, i);
			size_t n = strcspn(name, "(@");

			if (strlen(*f) == n && !strncmp(name, *f, n))
				return (int)i;
		}
	return -1;
}

char *inspect_eval(struct inspect *p, int level, const char *expr)
{
	struct err ignored;
	char *value = NULL;

	return gdb_eval(p->x->g, expr, 0, level, 0, &value, &ignored) ? NULL : value;
}

bool inspect_number(struct inspect *p, int level, const char *expr, uint64_t *v)
{
	cleanup_free char *unsigned_expr = str_fmt("(unsigned long)(%s)", expr),
			  *text = inspect_eval(p, level, unsigned_expr);

	return text && !str_u64(text, 0, 0, UINT64_MAX, v);
}

/* ---- the heap ---- */

bool inspect_block(pid_t pid, uint64_t addr, struct object *o)
{
	struct heap_walk w;

	if (!heap_walk_begin(&w, pid, addr))
		return false;
	while (heap_walk_next(&w)) {
		if (addr >= heap_walk_end(&w))
			continue;
		*o = (struct object){.lo = w.at + sizeof(w.b),
				     .len = w.b.magic == HEAP_USED ? heap_block_size(&w.b) : heap_class_size(w.b.cls),
				     .heap = true,
				     .freed = w.b.magic == HEAP_FREE,
				     .header = w.at};
		snprintf(o->name, sizeof(o->name), "the block of %llu bytes at 0x%llx", (unsigned long long)o->len,
			 (unsigned long long)o->lo);
		return addr >= o->lo;
	}
	return false;
}

/* ---- variables ---- */

/* Is it in [&name, &name + sizeof name)? */
static bool is_in(struct inspect *p, int level, const char *name, uint64_t addr, struct object *o)
{
	cleanup_free char *at = str_fmt("&(%s)", name), *size = str_fmt("sizeof(%s)", name);
	uint64_t lo, len;

	if (!inspect_number(p, level, at, &lo) || lo > addr || !inspect_number(p, level, size, &len) ||
	    addr - lo >= len)
		return false;
	*o = (struct object){.lo = lo, .len = len};
	snprintf(o->name, sizeof(o->name), "%s", name);
	return true;
}

static bool find_local(struct inspect *p, int level, uint64_t addr, struct object *o)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_value *list;
	struct err ignored;
	bool found = false;

	if (gdb_select(p->x->g, 0, level, &ignored) ||
	    gdb_cmd(p->x->g, 0, &r, &ignored, "-stack-list-variables --no-values"))
		return false;
	list = mi_get(r.result->results, "variables");
	for (size_t i = 0; list && i < list->n && i < VARIABLES && !found; i++) {
		const char *name = mi_str(list->item[i], "name");

		found = name && !strchr(name, '@') && is_in(p, level, name, addr, o);
	}
	return found;
}

/* The level of the frame that addr is in; -1: none. */
static int frame_of(struct inspect *p, uint64_t addr, struct expr_locals *l)
{
	memset(l, 0, sizeof(*l));
	if (expr_locals_owner(p->x->g, 0, 0, addr, l) || !l->any)
		return -1;
	return expr_locals_frame(p->x->g, 0, l);
}

uint64_t inspect_birth(struct inspect *p, uint64_t addr, char *function, size_t size)
{
	struct expr_locals l;
	uint64_t ret = 0;
	struct err ignored;

	if (frame_of(p, addr, &l) < 0 || addr + 8 >= l.cfa)
		return 0;
	/* the return address is where the call has put it */
	if (trace_read(p->copy, l.cfa - 8, &ret, sizeof(ret), &ignored) || ret != l.ret)
		return 0;
	snprintf(function, size, "%s", l.func);
	return l.cfa - 8;
}

/* GDB answers "name + 8 in section .data of FILE", or without "+ 8". */
char *inspect_symbol(struct gdb *g, uint64_t addr)
{
	cleanup_free char *cmd = str_fmt("info symbol 0x%llx", (unsigned long long)addr), *text = NULL;
	struct err ignored;
	const char *end;

	if (gdb_console(g, cmd, &text, &ignored) || !text || !(end = strstr(text, " in section ")))
		return NULL;
	return xstrndup(text, (size_t)(end - text));
}

static bool find_symbol(struct inspect *p, uint64_t addr, struct object *o)
{
	cleanup_free char *text = inspect_symbol(p->x->g, addr);
	uint64_t offset = 0;
	char *plus;

	if (!text)
		return false;
	plus = strstr(text, " + ");
	if (plus) {
		*plus = '\0';
		if (str_u64(plus + 3, 10, 0, UINT64_MAX, &offset))
			return false;
	}
	if (is_in(p, p->user, text, addr, o))
		return true;
	*o = (struct object){.lo = addr - offset};
	snprintf(o->name, sizeof(o->name), "%s", text);
	return true;
}

bool inspect_object(struct inspect *p, uint64_t addr, struct object *o)
{
	struct expr_locals l;
	int level;

	*o = (struct object){0};
	if (inspect_block(p->copy, addr, o))
		return true;
	level = frame_of(p, addr, &l);
	if (level >= 0)
		return find_local(p, level, addr, o);
	return find_symbol(p, addr, o);
}

/* ---- names ---- */

const char *inspect_closing(const char *s)
{
	char open = *s, close = open == '[' ? ']' : open == '{' ? '}' : ')';
	int depth = 0;

	for (; *s; s++) {
		depth += *s == open ? 1 : *s == close ? -1 : 0;
		if (!depth)
			return s + 1;
	}
	return NULL;
}

/* A member or index after an expression; NULL: there is none. */
static const char *more_of(const char *s)
{
	const char *end;

	s += strspn(s, " ");
	if (*s == '[')
		return inspect_closing(s);
	if (!strncmp(s, "->", 2))
		s += 2;
	else if (*s == '.')
		s++;
	else
		return NULL;
	s += strspn(s, " ");
	for (end = s; text_is_name(*end); end++)
		;
	return end > s ? end : NULL;
}

/* Is the expression the memory at addr, with this size? It must neither call nor change anything. */
static bool means(struct inspect *p, const char *expr, uint64_t addr, unsigned len)
{
	cleanup_free char *at = str_fmt("&(%s)", expr), *size = str_fmt("sizeof(%s)", expr);
	uint64_t lo, n;

	return !strpbrk(expr, "(=") && !strstr(expr, "++") && !strstr(expr, "--") &&
	       inspect_number(p, p->user, at, &lo) && lo == addr && inspect_number(p, p->user, size, &n) && n == len;
}

/* The longest part of the statement that is this memory. */
static char *in_statement(struct inspect *p, uint64_t addr, unsigned len)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	char *best = NULL;
	bool quoted = false;

	for (const char *s = text; s && *s && !best; s++) {
		const char *end = s;

		if (*s == '"')
			quoted = !quoted;
		if (quoted || !text_is_name(*s) || isdigit((unsigned char)*s) ||
		    (s > text && (text_is_name(s[-1]) || s[-1] == '.' || s[-1] == '>')))
			continue;
		while (text_is_name(*end))
			end++;
		for (const char *next = end; next; next = more_of(next)) {
			cleanup_free char *expr = xstrndup(s, (size_t)(next - s)), *star = str_fmt("*%s", expr);

			bool plain = means(p, expr, addr, len);

			if (plain || means(p, star, addr, len)) {
				free(best);
				best = xstrdup(plain ? expr : star);
			}
		}
		s = end - 1;
	}
	return best;
}

bool inspect_array(struct inspect *p, uint64_t addr, struct object *o)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	bool found = false;

	for (const char *s = text; s && *s; s++) {
		const char *end = s;

		if (!text_is_name(*s) || isdigit((unsigned char)*s) || (s > text && text_is_name(s[-1])))
			continue;
		while (text_is_name(*end))
			end++;
		for (const char *next = end; next; next = more_of(next)) {
			cleanup_free char *expr = xstrndup(s, (size_t)(next - s)), *cmd = str_fmt("whatis %s", expr),
					  *type = NULL;
			struct object one;
			struct err ignored;

			if (strpbrk(expr, "(=") || gdb_console_at(p->x->g, 0, p->user, 0, cmd, &type, &ignored) ||
			    !type)
				continue;
			if (strchr(type, '[') && is_in(p, p->user, expr, addr, &one) && one.lo == addr &&
			    (!found || one.len < o->len)) {
				*o = one;
				found = true;
			}
		}
		s = end - 1;
	}
	return found;
}

bool inspect_is_named(struct inspect *p, uint64_t addr, unsigned len)
{
	cleanup_free char *name = in_statement(p, addr, len);

	return name != NULL;
}

char *inspect_name(struct inspect *p, uint64_t addr, unsigned len, bool *exact)
{
	struct object o;
	char *name = in_statement(p, addr, len);

	*exact = true;
	if (name)
		return name;
	if (inspect_object(p, addr, &o)) {
		*exact = o.lo == addr && o.len == len && !o.heap;
		if (o.lo == addr)
			return xstrdup(o.name);
		return str_fmt("%llu bytes into %s", (unsigned long long)(addr - o.lo), o.name);
	}
	*exact = false;
	return str_fmt("*(%s *) 0x%llx",
		       len == 8	  ? "long"
		       : len == 4 ? "int"
		       : len == 2 ? "short"
				  : "char",
		       (unsigned long long)addr);
}
