/* SPDX-License-Identifier: MIT */
/* expr.c: see expr.h. */
#define LOG_DOMAIN "expr"
#include "expr/expr.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "expr/altered.h"
#include "expr/casts.h"
#include "expr/containers.h"
#include "expr/expr_float.h"
#include "expr/libc_calls.h"
#include "expr/patience.h"
#include "expr/rewrite.h"
#include "expr/statics.h"
#include "rlog/rlog.h"
#include "trace/trace.h"

#define FRAMES_MAX 64
#define CHECKS 3 /* how many values of calls_still are checked, and how many for which GDB has none */

static bool is_unknown_symbol(const struct err *e)
{
	return gdb_reason_of(e) == GDB_NO_SYMBOL;
}

/* Prepares an expression with calls. 1: fred makes the calls, or GDB must evaluate it. -1: GDB failed. */
static int try_calls(struct expr *x, struct gdb *g, const struct expr_place *at, struct err *e)
{
	cleanup_free char *outer = NULL;
	int r = calls_init(&x->calls, g, x->text, at, &outer, e);

	if (r)
		return r;
	if (x->calls.locals.any)
		x->locals = x->calls.locals;
	if (expr_type_of(g, outer, at->tid, at->frame, &x->x.type, e) == 0)
		x->direct = true;
	else
		calls_fini(&x->calls);
	return gdb_dead(g) ? -1 : 1;
}

/* Prepares what GDB will evaluate in copies, whose threads stand in other frames. */
static int for_gdb(struct expr *x, struct gdb *g, const struct expr_place *at, struct err *e)
{
	if (expr_check_casts(x->text, e) || calls_check(g, x->text, at, e) ||
	    expr_check_optimized(g, x->text, at->tid, at->frame, e) ||
	    expr_rewrite_absolute(g, x->text, at->tid, at->frame, &x->absolute, &x->locals, e) < 0 ||
	    (!x->absolute && expr_copy_split(g, x->text, at->tid, at->frame, &x->in_frame, e) < 0))
		return -1;
	log_info("%s: by GDB as %s", x->text, x->absolute ? x->absolute : "it is, in its frame");
	return try_calls(x, g, at, e);
}

/* Compiles the expression, and adds the types of libc's functions that it needs, one after the other. */
static int compile(struct expr *x, struct gdb *g, const struct expr_place *at, struct err *e)
{
	for (;;) {
		int r = expr_compile(g, x->text, at, &x->x, e);
		char *cast = r < 0 && e->kind == ERR_USAGE ? expr_libc_supply(x->text, e) : NULL;

		if (!cast)
			return r;
		free(x->text);
		x->text = cast;
	}
}

int expr_init_wide(struct expr *x, struct gdb *g, const char *text, const struct expr_place *at, struct err *e)
{
	int r;

	*x = (struct expr){.given = xstrdup(text), .text = xstrdup(text), .compiled = true};
	r = expr_float_code(g, text, at, &x->x, e);
	x->locals = x->x.locals;
	if (r)
		expr_fini(x);
	return r;
}

/*
 * GDB does not compile it (refused, why: as expr_compile has returned): with the methods of libstdc++ spelled out, or
 * taken apart at its floating-point operators, it may be compiled after all: 0. Else 1, or -1.
 */
static int try_otherwise(struct expr *x, struct gdb *g, const struct expr_place *at, int refused, struct err *why,
			 struct err *e)
{
	cleanup_free char *text = NULL;

	if (expr_without_containers(g, x->text, at->tid, at->frame, &text, e) < 0)
		return -1;
	if (text) {
		refused = expr_compile(g, text, at, &x->x, why);
		log_info("%s: as %s: %s", x->text, text, refused ? why->text : "compiled");
		if (refused >= 0) { /* GDB evaluates the text, or the arguments of its calls are compiled */
			free(x->text);
			x->text = steal_ptr(&text);
		}
		if (!refused || gdb_dead(g))
			return refused ? -1 : 0;
	}
	return refused == EXPR_NOT_COMPILABLE || expr_is_too_wide(refused, why)
		       ? expr_float_code(g, x->text, at, &x->x, e)
		       : 1;
}

/* 0: compiled. 1: valid, GDB must evaluate it. 2: no such symbol here. -1: failure. */
static int try_frame(struct expr *x, struct gdb *g, const struct expr_place *at, struct err *e)
{
	struct err why = {0};
	int r = compile(x, g, at, &why);

	if (r == EXPR_NOT_COMPILABLE || (r < 0 && why.kind == ERR_USAGE && !is_unknown_symbol(&why))) {
		struct err reason = why;
		int other = try_otherwise(x, g, at, r, &reason, e);

		if (other < 0)
			return -1;
		if (!other)
			r = 0;
	}
	if (!r) {
		x->compiled = true;
		x->locals = x->x.locals;
		return 0;
	}
	/* GDB 13 evaluates virtual functions, but does not know their types */
	x->unsure = r < 0 && why.kind == ERR_USAGE && strchr(x->text, '(') && !is_unknown_symbol(&why);
	if (r == EXPR_NOT_COMPILABLE || x->unsure)
		return for_gdb(x, g, at, e);
	*e = why;
	return why.kind == ERR_USAGE ? 2 : -1;
}

/* What the expression says about objects that the frame's variables point to. Failing to find this is not an error. */
static void find_object(struct expr *x, struct gdb *g, pid_t tid, int frame)
{
	struct err ignored;
	bool pointer = false;

	if (!x->locals.any || expr_rewrite_values(g, x->text, tid, frame, &x->object, &pointer, &ignored) || pointer)
		return;
	free(x->object);
	x->object = NULL;
}

static int try_thread(struct expr *x, struct gdb *g, pid_t tid, struct err *e)
{
	struct gdb_frame *frames;
	struct err first = {0};
	size_t n;
	int user, r = 2;

	if (gdb_backtrace(g, tid, FRAMES_MAX, &frames, &n, e))
		return -1;
	user = gdb_frames_user(frames, n, RLOG_SHIM_NAME);
	for (int f = user; f < (int)n && r == 2; f++) {
		cleanup_place struct expr_place at = {0};

		r = gdb_keep_language(g, tid, f, e) || expr_place_init(&at, g, tid, f, e) ? -1
											  : try_frame(x, g, &at, e);
		if (r == 0 || r == 1)
			find_object(x, g, tid, f);
		if (r == 2 && !first.kind)
			first = *e;
		if (r == 2 && !is_unknown_symbol(e))
			break;
	}
	gdb_frames_free(frames, n);
	if (r == 2 && first.kind)
		*e = first;
	return r;
}

int expr_init(struct expr *x, struct gdb *g, const char *text, pid_t tid, struct err *e)
{
	cleanup_free char *statics = NULL;
	struct gdb_thread *threads;
	struct err first;
	size_t n;
	int r;

	memset(x, 0, sizeof(*x));
	x->patience = patience_new();
	x->given = xstrdup(text);
	x->text = xstrdup(text);
	r = try_thread(x, g, tid, e);
	if ((r == 2 || x->unsure) && !expr_name_statics(g, text, &statics, &first)) {
		expr_fini(x);
		x->patience = patience_new();
		x->given = xstrdup(text);
		x->text = steal_ptr(&statics);
		r = try_thread(x, g, tid, e);
	}
	if (r != 2 || !is_unknown_symbol(e))
		return r == 0 || r == 1 ? 0 : -1;
	first = *e;
	if (gdb_threads(g, &threads, &n, e))
		return -1;
	for (size_t i = 0; i < n && r == 2; i++)
		if (threads[i].tid != tid)
			r = try_thread(x, g, threads[i].tid, e);
	gdb_threads_free(threads, n);
	if (r == 2) {
		*e = first;
		expr_tell_inlined(g, tid, 0, e);
	}
	return r == 0 || r == 1 ? 0 : -1;
}

void expr_fini(struct expr *x)
{
	if (x->compiled || x->direct)
		expr_code_fini(&x->x);
	calls_fini(&x->calls);
	patience_drop(x->patience);
	free(x->absolute);
	free(x->in_frame);
	free(x->object);
	free(x->given);
	free(x->text);
	memset(x, 0, sizeof(*x));
}

void expr_share_patience(struct expr *x, struct expr_patience *p)
{
	patience_drop(x->patience);
	x->patience = patience_share(p);
}

struct reading {
	const struct expr *x;
	pid_t pid;
};

static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct reading *r = ctx;

	return trace_read(r->pid, addr, out, len, NULL);
}

static enum search_value truth_of(const struct expr *x, int64_t value)
{
	bool t = x->by_value ? value != x->unequal_to : value != 0;

	return t ? SEARCH_TRUE : SEARCH_FALSE;
}

static void no_frame(struct expr_value *out)
{
	out->truth = SEARCH_ERROR;
	snprintf(out->text, sizeof(out->text), "not within its function");
}

/* The return address decides, too, whether the expression has a value. */
static void add_frame_word(const struct expr *x, struct agent_result *words)
{
	if (!x->locals.any)
		return;
	if (words->ranges_n == AGENT_MAX_RANGES)
		words->ranges_full = true;
	else
		words->range[words->ranges_n++] = (struct agent_range){x->locals.cfa - 8, 8};
}

void expr_eval_memory(const struct expr *x, pid_t pid, struct expr_value *out)
{
	static const struct agent_ops ops = {.read_mem = read_mem};
	struct reading r = {.x = x, .pid = pid};
	enum agent_status s = agent_run(x->x.code, x->x.len, &ops, &r, &out->words);
	cleanup_free char *text = NULL;

	out->invalid = false;
	add_frame_word(x, &out->words);
	out->told = !out->words.ranges_full;
	out->known = s == AGENT_OK;
	out->value = out->words.value;
	if (!expr_locals_alive(&x->locals, pid)) {
		out->known = false;
		no_frame(out);
		return;
	}
	if (s == AGENT_OK) {
		out->truth = truth_of(x, out->value);
		text = expr_type_format(&x->x.type, out->value);
		snprintf(out->text, sizeof(out->text), "%.150s", text);
		return;
	}
	out->truth = SEARCH_ERROR;
	if (s == AGENT_BAD_MEMORY)
		snprintf(out->text, sizeof(out->text), "cannot access memory at address 0x%llx",
			 (unsigned long long)out->words.fault_addr);
	else
		snprintf(out->text, sizeof(out->text), "%s", agent_status_text(s));
}

static int eval_direct(const struct expr *x, pid_t pid, int timeout_ms, struct expr_value *out, struct err *e)
{
	struct agent_result r;
	enum agent_status s;
	struct err why = {0};

	out->truth = SEARCH_ERROR;
	if (calls_run(&x->calls, pid, timeout_ms, &s, &r, &why)) {
		snprintf(out->text, sizeof(out->text), "%.150s", why.text);
		log_debug("%s: %s", x->text, why.text);
		*e = why;
		out->endless = why.kind == ERR_TIMEOUT;
		return why.kind == ERR_KILLED ? -1 : 0;
	}
	if (s != AGENT_OK) {
		snprintf(out->text, sizeof(out->text), "%s", agent_status_text(s));
		return 0;
	}
	cleanup_free char *text = expr_type_format(&x->x.type, r.value);

	out->truth = truth_of(x, r.value);
	snprintf(out->text, sizeof(out->text), "%.150s", text);
	log_debug("%s: %s", x->text, text);
	return 0;
}

bool expr_is_still(const struct expr *x)
{
	return x->compiled || (x->direct && x->calls.still);
}

int expr_eval_still(const struct expr *x, pid_t pid, struct expr_value *out)
{
	cleanup_free char *text = NULL;
	enum agent_status s;
	bool ended;

	if (x->compiled) {
		expr_eval_memory(x, pid, out);
		return 0;
	}
	if (!x->direct)
		return 1;
	*out = (struct expr_value){.truth = SEARCH_ERROR};
	if (!expr_locals_alive(&x->locals, pid))
		no_frame(out);
	else if (calls_still(&x->calls, pid, &ended, &s, &out->words))
		return 1;
	else if (!ended)
		snprintf(out->text, sizeof(out->text), "the call ended by signal %d", SIGSEGV);
	else if (s != AGENT_OK)
		snprintf(out->text, sizeof(out->text), "%s", agent_status_text(s));
	else {
		text = expr_type_format(&x->x.type, out->words.value);
		out->truth = truth_of(x, out->words.value);
		snprintf(out->text, sizeof(out->text), "%.150s", text);
	}
	add_frame_word(x, &out->words);
	out->told = !out->words.ranges_full;
	return 0;
}

char *expr_value_text(const struct expr_value *v)
{
	return str_fmt(v->truth == SEARCH_ERROR ? "<%s>" : "%s", v->text);
}

/*
 * Attached to a copy: the frame in which the expression means something. *frame is -1 when there is no such frame.
 */
static int prepare_copy(const struct expr *x, struct gdb *g, int *frame, struct err *e)
{
	struct gdb_frame *frames;
	size_t n;

	if (!x->absolute && x->locals.any) {
		*frame = expr_locals_frame(g, 0, &x->locals);
		return gdb_check(g, e);
	}
	if (gdb_backtrace(g, 0, FRAMES_MAX, &frames, &n, e))
		return -1;
	*frame = gdb_frames_user(frames, n, RLOG_SHIM_NAME);
	gdb_frames_free(frames, n);
	return 0;
}

/* Sets the result from GDB's answer; r: 0, or why there is no value. */
static void set_result(struct expr_value *out, int r, bool truth, const char *text, const struct err *why)
{
	out->truth = r == 0 ? (truth ? SEARCH_TRUE : SEARCH_FALSE) : SEARCH_ERROR;
	out->invalid = r < 0 && why->kind == ERR_USAGE;
	snprintf(out->text, sizeof(out->text), "%.150s", r == 0 ? text : why->text);
}

/* Asks GDB in this frame; -1: the expression's frame is not there. */
static int ask_gdb(struct gdb *g, const char *what, pid_t tid, int frame, struct expr_value *out, struct err *why)
{
	cleanup_free char *text = NULL;
	bool truth = false;
	int r = -1;

	if (frame < 0)
		err_set(why, ERR_NOT_FOUND, "not within its function");
	else
		r = gdb_eval(g, what, tid, frame, 0, &text, why);
	if (r == 0)
		r = gdb_eval_bool(g, what, tid, frame, 0, &truth, why);
	if (frame >= 0 && expr_altered_called(g, why))
		r = -1;
	set_result(out, r, truth, text, why);
	return r;
}

static const char *text_in_frame(const struct expr *x)
{
	return x->in_frame ? x->in_frame : x->text;
}

static uint64_t cpu_ns_of(pid_t pid)
{
	uint64_t ns;

	return trace_cpu_ns(pid, &ns, NULL) ? 0 : ns;
}

static int eval_by_gdb(const struct expr *x, struct gdb *g, pid_t pid, int limit_ms, struct expr_value *out,
		       struct err *e)
{
	struct err why = {0};
	struct call_guard guard;
	uint64_t ns;
	int frame;

	if (gdb_attach(g, pid, e) || prepare_copy(x, g, &frame, e))
		return -1;
	call_guard_begin(&guard, g, pid, limit_ms, 2 * call_guard_count(x->text));
	ask_gdb(g, x->absolute ? x->absolute : text_in_frame(x), 0, frame, out, &why);
	ns = cpu_ns_of(pid);
	out->ended = call_guard_end(&guard, g, &why);
	if (out->ended)
		set_result(out, -1, false, NULL, &why);
	out->endless = guard.overran;
	if (!gdb_dead(g))
		return gdb_detach(g, e) || patience_note(x, limit_ms, ns - guard.cpu_from, out, e) ? -1 : 0;
	*e = why;
	return -1;
}

int expr_eval_copy(const struct expr *x, struct gdb *g, pid_t pid, int timeout_ms, struct expr_value *out,
		   struct err *e)
{
	int limit_ms = patience_limit_ms(x->patience, timeout_ms);
	uint64_t from;

	memset(out, 0, sizeof(*out));
	if (!expr_locals_alive(&x->locals, pid)) {
		no_frame(out);
		return 0;
	}
	if (!x->direct)
		return eval_by_gdb(x, g, pid, limit_ms, out, e);
	from = cpu_ns_of(pid);
	return eval_direct(x, pid, limit_ms, out, e) || patience_note(x, limit_ms, cpu_ns_of(pid) - from, out, e) ? -1
														  : 0;
}

int expr_eval_in_place(const struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e)
{
	pid_t tid = expr_locals_tid(&x->locals, t->pid);
	struct err why = {0};

	memset(out, 0, sizeof(*out));
	if (!expr_locals_alive(&x->locals, t->pid)) {
		no_frame(out);
		return 0;
	}
	if (gdb_attach(g, t->pid, e))
		return -1;
	ask_gdb(g, text_in_frame(x), tid, expr_locals_frame(g, tid, &x->locals), out, &why);
	return gdb_check(g, e) || gdb_detach(g, e) ? -1 : 0;
}

bool expr_needs_thread(const struct expr *x, const struct target *t, pid_t tid)
{
	return x->locals.any && !x->compiled && !x->absolute && !x->direct &&
	       expr_locals_tid(&x->locals, t->pid) != tid;
}

int expr_freeze(const struct expr *x, struct gdb *g, struct target *t, struct expr *out, struct err *e)
{
	cleanup_free char *text = NULL;
	pid_t tid = expr_locals_tid(&x->locals, t->pid);
	struct err why = {0};
	bool pointer;
	int frame, r = 1;

	if (!expr_locals_alive(&x->locals, t->pid))
		return 1;
	if (gdb_attach(g, t->pid, e))
		return -1;
	frame = expr_locals_frame(g, tid, &x->locals);
	if (frame >= 0)
		r = expr_rewrite_values(g, x->text, tid, frame, &text, &pointer, &why);
	if (!r)
		r = expr_init(out, g, text, tid, &why) ? 1 : 0;
	if (gdb_check(g, e))
		return -1;
	if (!r) {
		expr_share_patience(out, x->patience);
		out->by_value = x->by_value;
		out->unequal_to = x->unequal_to;
	}
	return gdb_detach(g, e) ? -1 : r;
}

static int eval_snap(const struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e)
{
	pid_t copy;
	int r;

	if (target_snap(t, &copy, e))
		return -1;
	r = expr_eval_copy(x, g, copy, 0, out, e) || expr_check_alive(out, copy, e) ? -1 : 0;
	target_snap_kill(copy);
	return r;
}

/* Is such a value sure without GDB's? A call that faults has no value; that does not make the first value sure. */
static bool is_settled(const struct expr *x, enum search_value truth)
{
	return x->checked || x->vain[truth == SEARCH_ERROR] >= CHECKS;
}

/* Compares the first value with GDB's: if they differ, GDB makes the calls from then on. */
static int check_direct(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e)
{
	struct expr_value by_gdb;
	int r;

	if (!expr_locals_alive(&x->locals, t->pid) || out->endless) /* nothing was called; or it does not return */
		return 0;
	x->direct = false;
	r = eval_snap(x, g, t, &by_gdb, e);
	x->direct = true;
	if (r)
		return -1;
	if (by_gdb.truth == SEARCH_ERROR) {
		log_info("%s: %s by direct calls, no value by GDB: %s", x->text, out->text, by_gdb.text);
		x->vain[out->truth == SEARCH_ERROR]++;
		return 0;
	}
	x->checked = true;
	if (by_gdb.truth == out->truth && !strcmp(by_gdb.text, out->text))
		return 0;
	log_warn("%s: %s by direct calls, %s by GDB", x->text, out->text, by_gdb.text);
	x->direct = false;
	expr_code_fini(&x->x);
	*out = by_gdb;
	return 0;
}

/* Runs the calls in a copy. The first times they are interpreted, too: both results have to agree. */
static int eval_direct_checked(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e)
{
	struct expr_value still;
	int r = eval_snap(x, g, t, out, e) || (!is_settled(x, out->truth) && check_direct(x, g, t, out, e)) ? -1 : 0;

	if (r || !x->direct || !expr_is_still(x) || expr_eval_still(x, t->pid, &still))
		return r;
	x->checks++;
	if (still.truth != out->truth || (still.truth != SEARCH_ERROR && strcmp(still.text, out->text))) {
		log_warn("%s: %s interpreted, %s when run", x->text, still.text, out->text);
		calls_no_still(&x->calls);
	} else {
		*out = still;
	}
	return 0;
}

int expr_eval(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e)
{
	bool still = x->compiled || x->checks >= CHECKS;
	int r = 0;

	if (still && !expr_eval_still(x, t->pid, out) && (x->compiled || is_settled(x, out->truth)))
		return expr_check_alive(out, t->pid, e);
	if (x->direct)
		r = eval_direct_checked(x, g, t, out, e);
	else if (expr_needs_thread(x, t, target_tid(t, t->ctl->parked)))
		r = expr_eval_in_place(x, g, t, out, e);
	else
		r = eval_snap(x, g, t, out, e);
	return r || expr_check_alive(out, t->pid, e) ? -1 : 0;
}
