/* SPDX-License-Identifier: MIT */
/* watch_result.c: what was found: read from the process that stands there, and as the JSON object of fredctl(1). */
#include "watch/watch_int.h"

#include <stdlib.h>

#include "base/str.h"
#include "replay/show.h"

#define FREE_DEPTH 12 /* how far from the instruction outwards `free` may be */

/*
 * The held thread stands after the instruction. For the unwinder it is put back on it, with the registers
 * it had there if they are known, so that inlined functions and the line are those of the instruction.
 */
static int stand_on_instruction(struct watch *w, struct err *e)
{
	struct trace_local_result *r = &w->d.r;
	struct user_regs_struct regs;

	if (r->outcome != TRACE_LOCAL_FOUND)
		return 0;
	if (r->before_known) {
		regs = r->before;
	} else {
		regs = r->after;
		regs.rip = r->pc_insn ? r->pc_insn : r->pc_inside;
	}
	return trace_set_regs(&r->t, &regs, e);
}

static int check_local(const struct watch *w, struct err *e)
{
	switch (w->d.r.outcome) {
	case TRACE_LOCAL_FOUND:
	case TRACE_LOCAL_AT_END:
		return 0;
	default:
		return err_set(e, ERR_INTERNAL,
			       "event %llu, thread %u: the expression turned in this segment, but not when it "
			       "was gone through again (outcome %d)",
			       (unsigned long long)nav_at(&w->nav), w->d.thread, (int)w->d.r.outcome);
	}
}

/* GDB is attached. Is the thread inside `free`, the recorder's or libc's? */
static bool is_freeing(struct gdb *g, pid_t tid)
{
	static const char *const names[] = {"free", "cfree", "__libc_free", "__GI___libc_free", "_int_free",
					    /* the recorder's free jumps to these */
					    "fred.heap_put", "fred.detect_free", "fred.detect_keep"};
	struct gdb_frame *frames;
	struct err ignored;
	bool found = false;
	size_t n;

	if (gdb_backtrace(g, tid, FREE_DEPTH, &frames, &n, &ignored))
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; frames[i].func && k < sizeof(names) / sizeof(names[0]); k++)
			found |= str_eq(frames[i].func, names[k]);
	gdb_frames_free(frames, n);
	return found;
}

int watch_describe(struct watch *w, struct watch_result *r, struct err *e)
{
	const struct trace_local_result *found = &w->d.r;
	pid_t pid, tid = found->is_copy ? 0 : w->d.tid;
	uint64_t insn;

	*r = (struct watch_result){
		.expr = xstrdup(w->x.given),
		.process = w->nav.t.process,
		.at = {.event = w->turn, .pc = found->pc_insn ? found->pc_insn : found->pc_after},
		.events_total = nav_total(&w->nav),
		.at_end = found->outcome == TRACE_LOCAL_AT_END,
		.before = expr_value_text(&w->d.before),
		.after = expr_value_text(&w->d.after),
		.had_value = w->d.before.truth != SEARCH_ERROR,
		.may_be_later = !w->sure,
		.bad_at_events = w->sure || w->at_events,
	};
	if (check_local(w, e) || stand_on_instruction(w, e))
		return -1;
	r->thread = thread_name(&w->nav.t, w->d.r.t.pid, w->d.thread, w->d.tid);
	pid = segment_search_release(&w->d, e);
	if (pid < 0 || gdb_attach(w->g, pid, e) || stack_read(&r->stack, w->g, tid, e))
		return -1;
	r->freed = is_freeing(w->g, tid);
	if (!found->pc_insn && found->outcome == TRACE_LOCAL_FOUND && !gdb_prev_insn(w->g, found->pc_after, &insn, e))
		r->at.pc = insn;
	return 0;
}

void watch_result_fini(struct watch_result *r)
{
	free(r->expr);
	free(r->before);
	free(r->after);
	stack_fini(&r->stack);
	strv_fini(&r->notes);
	*r = (struct watch_result){0};
}

void watch_result_use_sources(struct watch_result *r, const struct rec *rec)
{
	stack_use_sources(&r->stack, rec, &r->notes);
}

/* ---- as JSON ---- */

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *stats_json(const struct watch_stats *s)
{
	struct search_costs all = search_total(s->stage);
	json_t *stages = json_object();

	for (int i = 0; i < SEARCH_STAGES; i++) {
		const struct search_costs *c = &s->stage[i];

		json_object_set_new(stages, search_stage_name((enum search_stage)i),
				    json_pack("{s:o, s:o, s:o, s:o, s:f}", "checkpoints", number(c->checkpoints),
					      "restarts", number(c->restarts), "evaluations", number(c->evaluations),
					      "states", number(c->states), "total_s", (double)c->total_ns / 1e9));
	}
	return json_pack("{s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "total_s", s->total_s,
			 "record_s", s->record_s, "replay_s", s->replay_s, "checkpoints", number(all.checkpoints),
			 "restarts", number(all.restarts), "evaluations", number(all.evaluations), "later_evaluations",
			 number(s->later_evaluations), "later_s", s->later_s, "checkpoint_s",
			 (double)all.checkpoint_ns / 1e9, "restart_s", (double)all.restart_ns / 1e9, "evaluate_s",
			 (double)all.evaluate_ns / 1e9, "stages", stages);
}

json_t *watch_position_json(const struct watch_result *r)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "event", number(r->at.event), "events_total",
			 number(r->events_total), "thread", show_thread_name(&r->thread), "pc",
			 json_sprintf("0x%llx", (unsigned long long)r->at.pc), "hits",
			 r->at.hits ? number(r->at.hits) : json_null());
}

json_t *watch_result_json(const struct watch_result *r)
{
	json_t *out = json_pack("{s:s, s:b, s:b, s:i, s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o}", "expr", r->expr,
				"found", 1, "at_end", r->at_end, "process", (int)r->process, "position",
				watch_position_json(r), "location", show_location(&r->stack.location), "before",
				r->before, "after", r->after, "may_be_later", r->may_be_later, "bad_at_events",
				r->bad_at_events, "backtrace", show_frames(&r->stack), "stats", stats_json(&r->stats));

	for (size_t i = 0; i < r->notes.n; i++)
		show_note(out, r->notes.s[i]);
	return out;
}
