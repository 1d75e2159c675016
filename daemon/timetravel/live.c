/* SPDX-License-Identifier: MIT */
/*
 * live.c: finds the place in the last segment where a live program stands, which becomes the end of history (struct
 * history_end). What is known of it is its registers and memory (visibility/thread_snapshot.h).
 */
#define LOG_DOMAIN "live"
#include "base/log.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "visibility/thread_snapshot.h"

/* after this time, the address is passed too often to stop at it each time: walks instead */
#define COMPARE_NS 1000000000ull
#define WALK_NS 120000000000ull

/* Registers count more than words of the stack, and these more than words of the data. */
static uint64_t rank(unsigned registers, size_t stack, size_t data)
{
	const size_t most = (1u << 28) - 1;

	return (uint64_t)registers << 56 | (uint64_t)(stack < most ? stack : most) << 28 | (data < most ? data : most);
}

static int differs(void *ctx, struct trace *t, const struct user_regs_struct *r, uint64_t least, uint64_t *differ,
		   struct err *e)
{
	const struct thread_snapshot *p = ctx;
	unsigned registers;
	size_t stack;

	if (!thread_snapshot_is_like(p, r, &registers))
		return 0;
	*differ = rank(registers, 0, 0);
	if (*differ > least)
		return 1;
	stack = thread_snapshot_differs(p, t->pid, false);
	*differ = rank(registers, stack, 0);
	if (*differ <= least)
		*differ = rank(registers, stack, thread_snapshot_differs(p, t->pid, true));
	return 1;
}

struct live_walk {
	const struct thread_snapshot *p;
	pid_t base;
	uint64_t differ;
};

static int is_similar(void *ctx, struct trace *now, struct walk_tell *tell, struct err *e)
{
	struct live_walk *w = ctx;

	thread_snapshot_tell(w->p, now->pid, w->base, tell);
	if (tell->n)
		return 0;
	w->differ =
		rank(0, thread_snapshot_differs(w->p, now->pid, false), thread_snapshot_differs(w->p, now->pid, true));
	return 1;
}

/* Walks, where the address is passed very often: sets s->best and s->least. SEGCUR_NONE: no state is similar enough. */
static int walk_to_similar(struct cursor *t, const struct thread_snapshot *p, struct breaks *at,
			   struct segcur_similar *s, struct err *e)
{
	struct live_walk w = {p, t->in.base.pid, 0};
	struct walked there;
	uint64_t before;
	int r = segcur_walk_to_state(&t->in, &p->regs, WALK_NS, is_similar, &w, &there, e);

	if (r)
		return r < 0 ? -1 : SEGCUR_NONE;
	segcur_drop(&there.t);
	if (segcur_count_before_walks(&t->in, at, &before, e))
		return -1;
	s->best = before + there.times;
	s->least = w.differ;
	return 0;
}

/* s->least: 0: the very state of the live program. */
static int find_live(struct cursor *t, const struct thread_snapshot *p, struct segcur_similar *s, struct err *e)
{
	struct breaks at = {0};
	struct stop stop;
	bool found = true;
	int r = cursor_enter(t, t->history_end.at.event, e);

	if (!r)
		r = segcur_most_similar(&t->in, s, e);
	if (r == SEGCUR_CUT) {
		breaks_add(&at, s->pc, 0);
		r = walk_to_similar(t, p, &at, s, e);
		found = !r;
		if (!found)
			s->best = s->arrivals;
		/* what comes after it has not happened yet */
		r = r < 0 || cursor_enter(t, t->history_end.at.event, e)
			    ? -1
			    : segcur_nth_stop(&t->in, &at, s->best, &stop, e);
		breaks_fini(&at);
	}
	t->history_end.found = !found ? HISTORY_END_EARLIER : s->least ? HISTORY_END_ALIKE : HISTORY_END_EXACT;
	return r;
}

int cursor_goto_live(struct cursor *t, const struct thread_snapshot *p, struct err *e)
{
	struct segcur_similar s = {.pc = p->regs.rip, .differ = differs, .ctx = (void *)p, .budget_ns = COMPARE_NS};
	unsigned long long n = nav_total(t->nav) - 1;
	int r;

	if (p->in_call) {
		r = cursor_last(t, e);
		return r <= 0 ? r
			      : err_set(e, ERR_USAGE,
					"nothing that the program did before this call is recorded yet: "
					"`finish` first");
	}
	t->history_end = (struct history_end){.at = {.event = n, .pc = s.pc}};
	r = find_live(t, p, &s, e);
	if (r > 0)
		return err_set(e, ERR_INTERNAL,
			       "the replay does not come to 0x%llx, where the live program stands, after event %llu",
			       (unsigned long long)s.pc, n);
	log_info("event %llu, time %llu at 0x%llx: differs by 0x%llx", n, (unsigned long long)s.best,
		 (unsigned long long)s.pc, (unsigned long long)s.least);
	t->history_end.at.hits = s.best;
	t->history_end.on = !r;
	return r;
}
