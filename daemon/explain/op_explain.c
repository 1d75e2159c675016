/* SPDX-License-Identifier: MIT */
/* op_explain.c: the operation: to the failure and back, and the object of fredctl explain. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "chain/condition.h"
#include "chain/explain.h"
#include "explain/damage.h"
#include "explain/descriptor.h"
#include "explain/failure.h"
#include "explain/ops.h"
#include "explain/stuck.h"
#include "explain/vain.h"
#include "flow/flow_int.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "sanitizer/sanitizer.h"
#include "timetravel/cursor_int.h"

#define DEPTH 24 /* steps */

/* ---- to the failure ---- */

/* Does the replay reach its end? */
static int verify(struct explain *x, struct err *e)
{
	int r = explain_first_way(x, "replaying to the failure", e);

	return r == 1 ? nav_goto(&x->nav, nav_total(&x->nav), e) : r;
}

/* ---- what failed ---- */

static int read_fault(struct explain *x, struct failure_fault *f, struct err *e)
{
	struct timeline_event ev;

	if (timeline_read(x->nav.t.tl, nav_total(&x->nav), &ev, e))
		return -1;
	*f = (struct failure_fault){.sig = x->ending.value, .code = 0};
	if (ev.ev.rec.kind == RLOG_CRASH)
		*f = (struct failure_fault){(int)ev.ev.rec.op[0], (int)(int64_t)ev.ev.rec.op[1], ev.ev.rec.op[2],
					    ev.ev.rec.op[3]};
	return 0;
}

static int explain_signal(struct explain *x, const struct failure_fault *f, struct err *e)
{
	const char *name = sigabbrev_np(f->sig);
	struct inspect p = {0};
	int r;

	failure_set_kind(x, "signal", "the program was ended by SIG%s", name ? name : "?");
	r = failure_tell(x, &p, e);
	inspect_close(&p);
	explain_end(x, END_DECIDED, "the signal was sent");
	return r;
}

/* Explains a failure that a sanitizer's runtime reported. 0; 1: none ended the program; -1. */
static int explain_reported(struct explain *x, struct err *e)
{
	struct sanitizer_signal s;
	int r = sanitizer_explain(x, &s, e);

	if (r == SANITIZER_SIGNAL)
		r = failure_fault(x, &(struct failure_fault){s.sig, 1, s.addr, s.pc}, e);
	if (r)
		return r;
	return failure_returned(x, e) || because_of_bound(x, e) ? -1 : because_here(x, e);
}

static int explain_crash(struct explain *x, struct err *e)
{
	struct failure_fault f;
	int r;

	if (read_fault(x, &f, e))
		return -1;
	x->failure.signal = f.sig;
	if (f.sig == SIGABRT && stuck_is(x))
		return stuck_explain(x, e);
	if (explain_goto_failure(x, e))
		return -1;
	r = f.code > 0 && f.sig != SIGABRT ? 1 : explain_reported(x, e);
	if (r <= 0)
		return r;
	if (f.sig == SIGABRT)
		return failure_abort(x, e) || failure_returned(x, e) ? -1 : 0;
	r = f.code > 0 ? failure_fault(x, &f, e) : explain_signal(x, &f, e);
	return r || failure_returned(x, e) || because_of_bound(x, e) ? -1 : because_here(x, e);
}

static bool has_source(const struct step *step)
{
	return json_is_string(json_object_get(step->location, "file"));
}

/* Does the chain lead to code without sources, or name only the failure, in code whose statements are not known? */
static bool names_no_statement(const struct explain *x)
{
	const struct step *first = &x->chain.v[0], *last = &x->chain.v[x->chain.n - 1];

	if (has_source(last))
		return false;
	return x->chain.n == 1 ? x->end == END_DECIDED : has_source(first);
}

/* Also where one is in a function that the compiler has put into the other's. */
static bool is_same_line(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "file"), json_object_get(b, "file")) &&
	       json_equal(json_object_get(a, "line"), json_object_get(b, "line"));
}

/*
 * Did the program end itself, by a check of its own, and does the chain go no further than the statement that did it?
 */
static bool names_failure_only(const struct explain *x)
{
	static const char *const kinds[] = {"abort", "assertion", "exit"};
	const struct step *first = &x->chain.v[0], *last = &x->chain.v[x->chain.n - 1];
	bool checked = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		checked |= str_eq(x->failure.kind, kinds[i]);
	return checked && (x->end == END_DECIDED || x->end == END_CONSTANT || x->end == END_COMPUTED) &&
	       (x->chain.n == 1 || is_same_line(first->location, last->location));
}

/* Does the chain say only that memory was accessed there, by a pointer that the compiler knew to be null? */
static bool names_access_only(const struct explain *x)
{
	if (x->chain.n != 1 || !str_eq(x->failure.kind, "segfault"))
		return false;
	return x->end == END_CONSTANT && x->failure.address && !str_eq(x->failure.address, "0x0");
}

/*
 * Does the chain lead from a value that was copied elsewhere to a loop's counter, which the loop counted as it should?
 * Then the counter is not the mistake.
 */
static bool names_counter(const struct explain *x)
{
	const struct step *last = &x->chain.v[x->chain.n - 1];
	const char *text = json_string_value(json_object_get(last->location, "text"));
	bool moved = false;

	if (!x->counted || x->end != END_COMPUTED || last->role != STEP_WRITE || !text)
		return false;
	for (size_t i = 1; i + 1 < x->chain.n; i++)
		moved |= x->chain.v[i].role == STEP_COPY || x->chain.v[i].role == STEP_TRANSITION;
	text += strspn(text, " \t");
	return moved && str_starts(text, "for") && strchr(" (", text[3]);
}

/* Does the chain end at a constant that no statement sets, as the compiler derived it from an earlier condition? */
static bool names_test_only(const struct explain *x)
{
	const struct step *last = &x->chain.v[x->chain.n - 1];
	const char *text = json_string_value(json_object_get(last->location, "text"));

	return x->end == END_CONSTANT && last->role == STEP_WRITE && text && condition_only_tests(text);
}

/* A chain that could not be followed to its end is shown, but gives no cause. */
static void judge(struct explain *x)
{
	x->found = x->chain.n && x->end && !chain_led_nowhere(x->end) && !names_no_statement(x) &&
		   !names_failure_only(x) && !names_access_only(x) && !names_counter(x) && !names_test_only(x);
}

/* A step that belongs to the one before it is added even when the chain has its greatest length. */
static void keep_depth(struct explain *x)
{
	if (x->chain.n <= x->depth)
		return;
	explain_cut(x, x->depth);
	explain_end_instead(x, END_LIMIT, "the chain has as many steps as were asked for (--depth)");
}

static int explain_failure(struct explain *x, struct err *e)
{
	int r = 0;

	switch (x->ending.how) {
	case PROCS_CRASHED:
		r = explain_crash(x, e);
		break;
	case PROCS_FAILED:
		r = explain_goto_failure(x, e) ? -1 : explain_reported(x, e);
		if (r > 0)
			r = failure_exit(x, e);
		break;
	case PROCS_RUNNING:
		r = stuck_explain(x, e);
		break;
	case PROCS_EXITED:
	case PROCS_EXECED:
		failure_set_kind(x, "none",
				 x->ending.how == PROCS_EXITED ? "the process exited with status 0"
							       : "the process became another program");
		explain_end(x, END_DECIDED, "nothing failed");
		return 0;
	}
	if (r && x->chain.n && explain_may_go_on(x, e)) {
		explain_end(x, END_UNKNOWN, "%s", e->text);
		r = 0;
	}
	if (!r && (because_of_guard(x, e) || flow_lost_before(x, e)))
		return -1;
	if (!r) {
		keep_depth(x);
		judge(x);
	}
	if (!r && x->found && failure_setter(x, e))
		return -1;
	return r;
}

/* ---- the result ---- */

/*
 * The steps as JSON, with the recorded sources. What a user should know of these sources is added to `notes`, each text
 * once.
 */
static json_t *chain_json(struct explain *x)
{
	json_t *list = json_array(), *note;
	struct strv seen = {0};
	size_t k;

	for (size_t i = 0; i < x->chain.n; i++) {
		json_t *step = chain_step_json(&x->chain.v[i], x->process, nav_total(&x->nav));

		show_sources(step, x->rec);
		json_array_foreach(json_object_get(step, "notes"), k,
				   note) if (!strv_has(&seen, json_string_value(note)))
			strv_add(&seen, json_string_value(note));
		json_object_del(step, "notes");
		json_array_append_new(list, step);
	}
	strv_add_all(&x->notes, (const char *const *)seen.s);
	strv_fini(&seen);
	return list;
}

/* The write of the first damaged block whose write was found; borrowed. NULL: none was. */
static json_t *damage_cause(const struct explain *x)
{
	json_t *block;
	size_t k;

	json_array_foreach(x->damage, k,
			   block) if (json_is_object(json_object_get(block, "cause"))) return json_object_get(block,
													      "cause");
	return NULL;
}

static json_t *result_of(struct explain *x, double since)
{
	json_t *chain = chain_json(x), *r;
	bool led = x->found && x->chain.n;
	json_t *cause = led ? json_array_get(chain, x->chain.n - 1) : damage_cause(x);
	bool found = cause != NULL;

	if (!x->end)
		explain_end(x, END_UNKNOWN, "nothing more is known");
	r = json_pack("{s:b, s:o, s:o}", "found", found, "failure", chain_failure_json(&x->failure), "chain", chain);
	show_process(r, x->rec, x->process);
	for (size_t i = 0; i < x->notes.n; i++)
		show_note(r, x->notes.s[i]);
	json_object_set(r, "cause", found ? cause : json_null());
	json_object_set_new(r, "end",
			    json_pack("{s:s, s:o}", "kind", chain_end_name(x->end), "text",
				      json_text(x->end_text, strlen(x->end_text))));
	if (x->threads)
		json_object_set(r, "threads", x->threads);
	if (x->damage)
		json_object_set(r, "damage", x->damage);
	json_object_set_new(r, "stats", json_pack("{s:f}", "total_s", clock_s() - since));
	return r;
}

static int explain(struct explain *x, struct err *e)
{
	if (explain_begin(x, e))
		return -1;
	if (verify(x, e))
		return err_wrap(e, "the failure is not reached");
	op_progress(x->ctx, 0.35, "looking at the failure");
	x->g = gdb_new(&gdb_with_scripts, e);
	if (!x->g || explain_failure(x, e))
		return -1;
	if (!damage_any(x))
		return 0;
	x->damage = json_array();
	return damage_explain(x, x->damage, e);
}

/* Without --process, and if nothing failed: a process whose heap was damaged. */
static uint32_t default_process(const json_t *params, const struct rec *rec, uint32_t process)
{
	uint32_t damaged = damage_process(rec);
	const struct rec_image *img;
	struct procs_ending ending;
	struct err ignored;

	if (json_object_get(params, "process") || !damaged || !process)
		return process;
	img = rec_image(rec, process, &ignored);
	if (!img)
		return process;
	ending = procs_ending(rec, img);
	return ending.how == PROCS_EXITED || ending.how == PROCS_EXECED ? damaged : process;
}

static const struct explain_ways ways = {flow_on, vain_explain_timeout, descriptor_explain, flow_begins_empty,
					 flow_is_stale};

/* x is about the recorded process. 0: the chain then has a step at that position, and the one of flow_tell_giver. */
static int look_at(struct explain *x, const char *position, uint64_t block, struct err *e)
{
	struct timeline_point at;
	struct inspect p = {0};
	int r = -1;

	if (explain_begin(x, e) || explain_first_way(x, "replaying to the memory error", e) < 0 ||
	    nav_resolve(&x->nav, position, &at, e) || cursor_goto_point(&x->t, &at, e))
		return -1;
	x->g = gdb_new(&gdb_with_scripts, e);
	if (x->g && !inspect_open(&p, x, e)) {
		inspect_step(&p, STEP_FREE, NULL, NULL, NULL, "%s", "");
		r = block && flow_tell_giver(&p, block, true, NULL, e) < 0 ? -1 : 0;
	}
	inspect_close(&p);
	return r;
}

void explain_look(struct rec *rec, struct op_ctx *ctx, json_t *step, uint64_t block, json_t **giver)
{
	struct explain x = {.ways = &ways, .ctx = ctx, .depth = DEPTH, .until = EXPLAIN_MOST, .rec = rec};
	const char *position = json_string_value(json_object_get(step, "at"));
	struct err ignored;

	*giver = NULL;
	x.process = (uint32_t)json_integer_value(json_object_get(step, "process"));
	if (position && x.process && !look_at(&x, position, block, &ignored)) {
		json_auto_t *list = chain_json(&x);
		const json_t *here = json_array_get(list, 0);

		json_object_set(step, "location", json_object_get(here, "location"));
		json_object_set(step, "backtrace", json_object_get(here, "backtrace"));
		*giver = json_incref(json_array_get(list, 1));
	}
	x.rec = NULL;
	explain_fini(&x);
}

int op_explain(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	json_int_t depth = json_integer_value(json_object_get(params, "depth"));
	struct explain x = {
		.ways = &ways, .ctx = ctx, .depth = depth > 0 ? (unsigned)depth : DEPTH, .until = EXPLAIN_MOST};
	double since = clock_s();
	int r = -1;

	if (pick_rec(params, &x.rec, e))
		return -1;
	x.failure.code = -1;
	x.process = default_process(params, x.rec, pick_process(params, x.rec, e));
	if (x.process)
		r = explain(&x, e);
	if (!r)
		*result = result_of(&x, since);
	explain_fini(&x);
	return r;
}
