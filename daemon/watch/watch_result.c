/* SPDX-License-Identifier: MIT */
/* watch_result.c: see watch_int.h. */
#include "watch/watch_int.h"

#include <stdio.h>

#include "replay/show.h"

json_t *watch_stats(const struct watch *w, const struct search_result *r, double total_s)
{
	struct search_costs all = search_total(r);
	json_t *stages = json_object();
	double wall = w->nav.t.rec->wall_s;

	for (int s = 0; s < SEARCH_STAGES; s++) {
		const struct search_costs *c = &r->stage[s];

		json_object_set_new(stages, search_stage_name((enum search_stage)s),
				    json_pack("{s:I, s:I, s:I, s:I, s:f}", "checkpoints",
					      (json_int_t)c->checkpoints, "restarts",
					      (json_int_t)c->restarts, "evaluations",
					      (json_int_t)c->evaluations, "states", (json_int_t)c->states, "total_s",
					      (double)c->total_ns / 1e9));
	}
	return json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "total_s", total_s,
			 "record_s", wall, "replay_s", w->replay_s, "checkpoints",
			 (json_int_t)all.checkpoints, "restarts", (json_int_t)all.restarts, "evaluations",
			 (json_int_t)all.evaluations, "later_evaluations", (json_int_t)w->later_evaluations, "later_s",
			 (double)w->later_ns / 1e9, "checkpoint_s", (double)all.checkpoint_ns / 1e9,
			 "restart_s", (double)all.restart_ns / 1e9, "evaluate_s",
			 (double)all.evaluate_ns / 1e9, "stages", stages);
}

/*
 * The held thread stands behind the instruction. For the unwinder it is put back on it, with the registers
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

json_t *watch_result(struct watch *w, struct err *e)
{
	json_t *loc, *bt, *thread;
	uint64_t insn;
	char pc[24];
	pid_t pid;

	if (check_local(w, e) || stand_on_instruction(w, e))
		return NULL;
	thread = show_thread(&w->nav.t, w->d.r.t.pid, w->d.thread, w->d.tid);
	snprintf(pc, sizeof(pc), "0x%llx",
		 (unsigned long long)(w->d.r.pc_insn ? w->d.r.pc_insn : w->d.r.pc_after));
	pid = stage_d_release(&w->d, e);
	if (pid < 0 || gdb_attach(w->g, pid, e) ||
	    !(bt = show_stack(w->g, w->d.r.is_copy ? 0 : w->d.tid, &loc, e))) {
		json_decref(thread);
		return NULL;
	}
	if (!w->d.r.pc_insn && w->d.r.outcome == TRACE_LOCAL_FOUND &&
	    gdb_prev_insn(w->g, w->d.r.pc_after, &insn, e) == 0)
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)insn);
	return json_pack("{s:s, s:b, s:b, s:i, s:{s:I, s:I, s:o, s:s}, s:o, s:s, s:s, s:b, s:o}", "expr", w->x.given,
			 "found", 1, "at_end", w->d.r.outcome == TRACE_LOCAL_AT_END, "process",
			 (int)w->nav.t.process, "position", "event", (json_int_t)w->turn, "events_total",
			 (json_int_t)nav_total(&w->nav), "thread", thread, "pc", pc, "location", loc, "before",
			 w->d.before.text, "after", w->d.after.text, "may_be_later", !w->sure, "backtrace", bt);
}
