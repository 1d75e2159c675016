/* SPDX-License-Identifier: MIT */
/* frames.c: backtraces and the registers of a frame. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"
#include "gdb/gdb.h"
#include "gdb/gdb_int.h"

#define DEFAULT_FRAMES 200
#define PRINT_DEPTH 20 /* GDB's default */

static void read_frame(const struct mi_value *v, struct gdb_frame *f)
{
	mi_int(v, "level", &f->level);
	mi_u64(v, "addr", &f->addr);
	mi_int(v, "line", &f->line);
	f->func = str_eq(mi_str(v, "func"), "??") ? NULL : str_dup(mi_str(v, "func"));
	f->file = str_dup(mi_str(v, "file"));
	f->fullname = str_dup(mi_str(v, "fullname"));
	f->signal_handler = str_eq(f->func, "<signal handler called>");
}

static int list_frames(struct gdb *g, const char *scope, int from, int to, struct gdb_frame **frames, size_t *n,
		       struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int w = gdb_cmd(g, 0, &r, e, "-stack-list-frames %s %d %d", scope, from, to);
	const struct mi_value *list;

	if (gdb_must(w, &r, ERR_USAGE, e))
		return -1;
	list = mi_get(r.result->results, "stack");
	*n = list ? list->n : 0;
	*frames = xcalloc(*n + 1, sizeof(struct gdb_frame));
	for (size_t i = 0; i < *n; i++)
		read_frame(list->item[i], &(*frames)[i]);
	return 0;
}

/* In GDB's backtraces, a structure without a printer, or a reference to one, is `...`. */
static const char *in_short(const char *value)
{
	const char *p = value;

	if (!value)
		return "...";
	if (*p == '@' && strchr(p, ':'))
		p = strchr(p, ':') + 2;
	return str_eq(p, "{...}") ? "..." : value;
}

/* Is `next` the value that arg had at the function's entry, and equal to its present one? */
static bool is_same_at_entry(const struct mi_value *arg, const struct mi_value *next)
{
	const char *name = mi_str(arg, "name"), *entry = mi_str(next, "name");

	return name && entry && str_starts(entry, name) && str_eq(entry + strlen(name), "@entry") &&
	       str_eq(mi_str(arg, "value"), mi_str(next, "value"));
}

static char *join_args(const struct mi_value *args)
{
	struct buf b = {0};

	for (size_t i = 0; args && i < args->n; i++) {
		const char *name = mi_str(args->item[i], "name");

		buf_addf(&b, "%s=", name ? name : "?");
		if (i + 1 < args->n && is_same_at_entry(args->item[i], args->item[i + 1]))
			continue;
		buf_addf(&b, "%s%s", in_short(mi_str(args->item[i], "value")), i + 1 < args->n ? ", " : "");
	}
	return b.data ? buf_steal(&b) : xstrdup("");
}

/* MI shows a summary of the arguments only in its report that another frame was selected. */
static const struct mi_value *selected_args(const struct mi_reply *r)
{
	for (size_t i = 0; i < r->async_n; i++)
		if (r->async[i]->type == MI_NOTIFY && str_eq(r->async[i]->klass, "thread-selected"))
			return mi_get(mi_get(r->async[i]->results, "frame"), "args");
	return NULL;
}

/*
 * Lists the arguments of a frame that is selected already, without those that the compiler removed from a copy of the
 * function.
 */
static int list_args(struct gdb *g, struct gdb_frame *f, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int w = gdb_cmd(g, 0, &r, e, "-stack-list-arguments --all-values %d %d", f->level, f->level);
	const struct mi_value *list;

	if (w)
		return w < 0 ? -1 : 0;
	list = mi_get(r.result->results, "stack-args");
	if (list && list->n)
		f->args = join_args(mi_get(list->item[0], "args"));
	return 0;
}

static int frame_args(struct gdb *g, struct gdb_frame *f, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int w = gdb_cmd(g, 0, &r, e, "-interpreter-exec console \"frame %d\"", f->level);
	const struct mi_value *args;

	if (w)
		return w < 0 ? -1 : 0;
	args = selected_args(&r);
	if (!args)
		return list_args(g, f, e);
	f->args = join_args(args);
	return 0;
}

static int set_depth(struct gdb *g, int depth, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};

	return gdb_cmd(g, 0, &r, e, "-gdb-set print max-depth %d", depth) < 0 ? -1 : 0;
}

/*
 * From the outermost frame on, so that each one is a new selection. With a depth of 0, GDB prints `{...}` for what is
 * inside of a structure, as `backtrace` does.
 */
int gdb_add_args(struct gdb *g, pid_t tid, struct gdb_frame *frames, size_t n, struct err *e)
{
	if (gdb_select(g, tid, 0, e) || set_depth(g, 0, e))
		return err_wrap(e, "arguments of functions");
	for (size_t i = n; i-- > 0;)
		if (!frames[i].args && frame_args(g, &frames[i], e))
			return err_wrap(e, "arguments of functions");
	return set_depth(g, PRINT_DEPTH, e);
}

static void add_modules(struct gdb *g, struct gdb_frame *frames, size_t n)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, gdb_target(g), &ignored))
		return;
	while (maps_next(&maps, &m))
		for (size_t i = 0; i < n && m.path[0] == '/'; i++)
			if (mapping_has(&m, frames[i].addr))
				frames[i].module = xstrdup(strrchr(m.path, '/') + 1);
}

int gdb_backtrace(struct gdb *g, pid_t tid, int max, struct gdb_frame **frames, size_t *n, struct err *e)
{
	cleanup_free char *scope = NULL;
	int last = (max > 0 ? max : DEFAULT_FRAMES) - 1;

	*frames = NULL;
	*n = 0;
	if (gdb_scope(g, tid, -1, &scope, e) || list_frames(g, scope, 0, last, frames, n, e))
		return err_wrap(e, "backtrace");
	add_modules(g, *frames, *n);
	return 0;
}

void gdb_frame_fini(struct gdb_frame *f)
{
	free(f->func);
	free(f->file);
	free(f->fullname);
	free(f->module);
	free(f->args);
}

void gdb_frames_free(struct gdb_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gdb_frame_fini(&frames[i]);
	free(frames);
}

int gdb_frames_user(const struct gdb_frame *frames, size_t n, const char *shim)
{
	size_t out = 0;

	for (size_t i = 0; shim && i < n; i++)
		if (str_eq(frames[i].module, shim))
			out = i + 1;
		else if (frames[i].fullname && !path_is_system(frames[i].fullname))
			break;
	for (size_t i = out; i < n; i++)
		if (frames[i].file)
			return (int)i;
	return out < n ? (int)out : 0;
}

/*
 * The address by which the frame's block and variables are found, as GDB's own
 * get_frame_address_in_block: callers stand after their call instruction, so one less; not so the
 * innermost frame, those it is inlined into, and what a signal interrupted.
 */
static uint64_t scope_pc(const struct gdb_frame *f, size_t n, size_t level)
{
	size_t inner = level;

	if (level >= n)
		return 0;
	while (inner > 0 && f[inner - 1].addr == f[level].addr)
		inner--;
	if (!inner || f[inner - 1].signal_handler)
		return f[level].addr;
	return f[level].addr - 1;
}

static int list_registers(struct gdb *g, const char *scope, struct gdb_regs *regs, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int w = gdb_cmd(g, 0, &r, e,
			"-data-list-register-values %s --skip-unavailable x 0 1 2 3 4 5 6 7 8 9 10 "
			"11 12 13 14 15 16 17 18 19 20 21 22 23",
			scope);
	const struct mi_value *list;

	if (gdb_must(w, &r, ERR_USAGE, e))
		return -1;
	list = mi_get(r.result->results, "register-values");
	for (size_t i = 0; list && i < list->n; i++) {
		int no;
		uint64_t value;

		if (mi_int(list->item[i], "number", &no) || no >= GDB_REGS || mi_u64(list->item[i], "value", &value))
			continue;
		regs->value[no] = value;
		regs->valid |= 1u << no;
	}
	return 0;
}

int gdb_frame_regs(struct gdb *g, pid_t tid, int frame, struct gdb_regs *regs, struct err *e)
{
	cleanup_free char *thread = NULL, *scope = NULL;
	struct gdb_frame *frames = NULL;
	size_t n = 0;

	*regs = (struct gdb_regs){0};
	if (gdb_scope(g, tid, -1, &thread, e) || gdb_scope(g, tid, frame, &scope, e) ||
	    list_registers(g, scope, regs, e) || list_frames(g, thread, 0, frame, &frames, &n, e))
		return err_wrap(e, "registers of frame %d", frame);
	regs->scope_pc = scope_pc(frames, n, (size_t)frame);
	gdb_frames_free(frames, n);
	return 0;
}
