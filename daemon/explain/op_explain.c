/* SPDX-License-Identifier: MIT */
/* op_explain.c: the operation: to the failure and back, and the object of fredctl explain. */
#define LOG_DOMAIN "explain"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "timetravel/cursor_int.h"
#include "explain/explain.h"
#include "explain/failure.h"
#include "explain/ops.h"
#include "replay/pick.h"
#include "replay/show.h"

#define DEPTH 24 /* steps */
#define PATIENCE_S 100.0 /* then nothing more is begun */

static void set_end(struct explain *x, const char *kind, const char *fmt, va_list ap)
{
	x->end_kind = kind;
	free(x->end_text);
	x->end_text = str_vfmt(fmt, ap);
}

void explain_end(struct explain *x, const char *kind, const char *fmt, ...)
{
	va_list ap;

	if (x->end_kind)
		return;
	va_start(ap, fmt);
	set_end(x, kind, fmt, ap);
	va_end(ap);
}

void explain_end_instead(struct explain *x, const char *kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_end(x, kind, fmt, ap);
	va_end(ap);
}

void explain_note(struct explain *x, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = str_vfmt(fmt, ap);
	va_end(ap);
	json_array_append_new(x->notes, json_text(text, strlen(text)));
	free(text);
}

bool explain_is_over(struct explain *x)
{
	if (json_array_size(x->chain) >= x->depth)
		explain_end(x, "limit", "the chain has as many steps as were asked for (--depth)");
	else if (clock_s() > x->until)
		explain_end(x, "limit", "the search has taken too long to go on");
	return x->end_kind != NULL;
}

bool explain_may_go_on(struct explain *x, const struct err *e)
{
	struct err ignored;

	if (op_cancelled(x->ctx) || gdb_dead(x->g) || (e->kind != ERR_CANCELLED && e->kind != ERR_INTERNAL))
		return false;
	log_info("%s", e->text);
	breaks_fini(&x->t.breaks);
	if (cursor_leave(&x->t, &ignored))
		log_info("%s", ignored.text);
	target_kill(&x->nav.t);
	return true;
}

int explain_regs(struct explain *x, pid_t tid, struct user_regs_struct *r, struct err *e)
{
	struct trace *t = cursor_thread(&x->t, tid, e);

	return t ? trace_get_regs(t, r, e) : -1;
}

int explain_insn(struct explain *x, const struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e)
{
	struct err ignored;

	for (size_t n = INSN_BYTES; n; n--)
		if (!trace_read(cursor_memory(&x->t), r->rip, code, n, &ignored)) {
			*i = (struct insn){code, n, r};
			return 0;
		}
	return err_set(e, ERR_NOT_FOUND, "there is no code at 0x%llx", (unsigned long long)r->rip);
}

/* ---- to the failure ---- */

/* Does the replay reach its end? */
static int verify(struct explain *x, struct err *e)
{
	struct timeline_point start;
	uint64_t total = nav_total(&x->nav), near;

	x->nav.what = "replaying to the failure";
	x->nav.span_hi = 0.3;
	if (nav_resolve(&x->nav, "start", &start, e) || nav_goto(&x->nav, start.event, e))
		return -1;
	if (nav_ckpt_after(&x->nav, start.event, &near))
		return nav_goto(&x->nav, total, e);
	return nav_run_with_checkpoints(&x->nav, total, nav_checkpoints_wanted(&x->nav, start.event, total), e);
}

/* Is there code at the PC? */
static bool has_code(struct explain *x)
{
	struct user_regs_struct r;
	struct err ignored;
	struct mapping m;

	return explain_regs(x, x->tid, &r, &ignored) || (maps_find(cursor_memory(&x->t), r.rip, &m) && m.exec);
}

int explain_goto_failure(struct explain *x, struct err *e)
{
	uint64_t total = nav_total(&x->nav);
	struct timeline_where last, w;
	struct err why;

	if (x->at.pc)
		return cursor_goto_pc(&x->t, x->at.event, x->at.pc, x->at.hits, e);
	if (!total || timeline_find(x->nav.t.tl, total, &last, e))
		return total ? -1 : err_set(e, ERR_USAGE, "%s: nothing was recorded", x->rec->dir);
	for (uint64_t n = total; n > nav_first(&x->nav); n--) {
		int r;

		if (timeline_find(x->nav.t.tl, n, &w, e))
			return -1;
		if (w.thread != last.thread || w.process != last.process)
			continue;
		r = cursor_goto_end(&x->t, n - 1, e);
		if (r > 0)
			continue;
		if (r < 0)
			return -1;
		x->tid = x->t.tid;
		x->no_code = !has_code(x) || cursor_where(&x->t, &x->at, &why);
		if (x->no_code)
			x->at.pc = 0;
		return 0;
	}
	return err_set(e, ERR_NOT_FOUND, "thread %u has executed nothing of the program's own", last.thread);
}

/* ---- the result ---- */

static json_t *stats(double since)
{
	return json_pack("{s:f}", "total_s", clock_s() - since);
}

/* A step's location and stack have the sources that were recorded. */
static void add_sources(struct explain *x, json_t *result)
{
	json_t *step, *note, *seen = json_object();
	size_t i, k;

	json_array_foreach(x->chain, i, step) {
		show_sources(step, x->rec);
		json_array_foreach(json_object_get(step, "notes"), k, note)
			if (!json_object_get(seen, json_string_value(note))) {
				json_object_set_new(seen, json_string_value(note), json_true());
				json_array_append(x->notes, note);
			}
		json_object_del(step, "notes");
	}
	json_decref(seen);
	if (json_array_size(x->notes))
		json_object_set(result, "notes", x->notes);
}

static json_t *result_of(struct explain *x, double since)
{
	size_t n = json_array_size(x->chain);
	json_t *cause = x->found && n ? json_array_get(x->chain, n - 1) : NULL, *r;

	if (!x->end_kind)
		explain_end(x, "unknown", "nothing more is known");
	r = json_pack("{s:b, s:O, s:O}", "found", cause != NULL, "failure", x->failure, "chain", x->chain);
	show_process(r, x->rec, x->process);
	add_sources(x, r);
	json_object_set(r, "cause", cause ? cause : json_null());
	json_object_set_new(r, "end", json_pack("{s:s, s:o}", "kind", x->end_kind, "text", json_text(x->end_text, strlen(x->end_text))));
	if (x->threads)
		json_object_set(r, "threads", x->threads);
	json_object_set_new(r, "stats", stats(since));
	return r;
}

/* libstdc++ brings what makes strings and containers readable. */
static const struct gdb_opts with_scripts = {.auto_load = true};

static bool is_over_time(void *ctx)
{
	struct explain *x = ctx;

	return clock_s() > x->until || op_cancelled(x->ctx);
}

static int explain(struct explain *x, struct err *e)
{
	const struct rec_image *img = rec_image(x->rec, x->process, e);

	if (!img)
		return -1;
	x->ending = procs_ending(x->rec, img);
	if (nav_init(&x->nav, x->rec, x->process, 0, x->ctx, e))
		return -1;
	x->have_nav = true;
	cursor_init(&x->t, &x->nav);
	x->t.interrupted = is_over_time;
	x->t.ctx = x;
	if (verify(x, e))
		return err_wrap(e, "the failure is not reached");
	op_progress(x->ctx, 0.35, "looking at the failure");
	x->g = gdb_new(&with_scripts, e);
	return x->g ? failure_explain(x, e) : -1;
}

int op_explain(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	json_int_t depth = json_integer_value(json_object_get(params, "depth"));
	struct explain x = {.ctx = ctx, .depth = depth > 0 ? (unsigned)depth : DEPTH, .until = clock_s() + PATIENCE_S};
	double since = clock_s();
	int r = -1;

	if (pick_rec(params, &x.rec, e))
		return -1;
	x.chain = json_array();
	x.notes = json_array();
	x.failure = json_object();
	x.process = pick_process(params, x.rec, e);
	if (x.process)
		r = explain(&x, e);
	if (!r)
		*result = result_of(&x, since);
	if (x.have_nav)
		cursor_fini(&x.t);
	gdb_free(x.g);
	if (x.have_nav)
		nav_fini(&x.nav);
	json_decref(x.chain);
	json_decref(x.notes);
	json_decref(x.failure);
	json_decref(x.threads);
	free(x.end_text);
	rec_free(x.rec);
	return r;
}
