/* SPDX-License-Identifier: MIT */
/* follow.c: see follow.h. How threads wait for their turn is in rlog/replay.h. */
#define LOG_DOMAIN "follow"
#include "watch/follow.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "expr/cost.h"
#include "localsearch/line.h"
#include "replay/segment.h"
#include "trace/alias.h"
#include "trace/budget.h"
#include "trace/group.h"
#include "trace/words.h"
#include "visibility/visibility.h"

#define POLL_MS 2
#define ASK_STOPS 256 /* stops between two looks at the process and the client */
/* seconds of recorded time: a way that is shorter is replayed once more for a few further evaluations */
#define NEAR_S 2
#define LOOKS_MIN 32
#define WATCHES TRACE_SLOTS
#define TRIES 4 /* runs from change to change; after these, the value is looked at event by event */
/*
 * The time that is counted for a unit of work (trace/budget.h), besides evaluating. It is the same in each run, so that
 * the answer is the same, too.
 */
#define EVENT_NS 1000u /* an event on the way */
#define HIT_NS 20000u /* a stop at a change */
#define LOOK_NS 40000u /* a stop at an event */
#define COPY_NS 300000u /* to see how a statement ends */
#define STEP_NS 8000u /* an instruction of that */

struct following {
	const struct follow *f;
	struct follow_result *r;
	struct trace_budget budget, half;
	uint64_t counted; /* the event up to which those on the way were counted */
	uint64_t until; /* from change to change: that of the way for which there is work left, even without changes */
	uint64_t left_ns; /* what is left of the budget after a run from change to change */
	struct trace_words words;
	struct group group;
	uint64_t gadget; /* address of a `syscall` instruction in the process, for making copies */
	struct visibility visibility;
	uint32_t notify; /* replay_ctl.notify, as it was last read */
	bool over;
	/*
	 * with at_events: the latest value in the segment after latest_event; it is the value at the next event if no
	 * other value follows in the segment
	 */
	bool pending;
	enum search_value latest;
	uint64_t latest_event;
	bool skipped; /* some events were left out */
	bool missed; /* the value at the end is not that of the last change */
	/* how many changes of the watched words there were; a checksum of the values that were read after each */
	uint64_t hits, sum;
	bool no_changes; /* look at the value at each event, without watching words */
};

static struct replay_ctl *ctl(const struct following *w)
{
	return w->f->nav->t.ctl;
}

/* The next value, in the segment after `event`. */
static void put(struct following *w, enum search_value v, uint64_t event)
{
	enum pred_side s = pred_side(w->f->pred, v);

	if (s == PRED_BAD && w->r->last == PRED_GOOD) {
		w->r->in_segment = w->r->turned && w->r->turn == event ? w->r->in_segment + 1 : 1;
		w->r->turned = true;
		w->r->turn = event;
		w->over = ++w->r->turns == w->f->nth;
	}
	if (s != PRED_NONE)
		w->r->last = s;
}

/* The latest value is that of the event after its segment. */
static void settle_latest(struct following *w)
{
	if (w->pending)
		put(w, w->latest, w->latest_event);
	w->pending = false;
}

static void put_change(struct following *w, enum search_value v, uint64_t event)
{
	if (!w->f->at_events) {
		put(w, v, event);
		return;
	}
	if (event != w->latest_event)
		settle_latest(w);
	w->latest = v;
	w->latest_event = event;
	w->pending = !w->over;
}

static void to_words(const struct following *w, const struct agent_result *from, struct trace_words *to)
{
	struct err ignored;

	*to = (struct trace_words){.complete = !from->ranges_full};
	for (size_t i = 0; i < from->ranges_n && i < TRACE_WORDS_MAX; i++)
		to->w[to->n++] = (struct trace_word){from->range[i].addr, from->range[i].len};
	if (w->f->nav->t.ctl->aliases && alias_add_words(w->f->nav->t.pid, to, &ignored))
		to->complete = false;
}

static void spend(struct following *w, uint64_t ns)
{
	trace_budget_spend(&w->budget, ns);
	trace_budget_spend(&w->half, ns);
}

/* It has come to event `at`. */
static void spend_way(struct following *w, uint64_t at)
{
	if (at > w->counted)
		spend(w, (at - w->counted) * EVENT_NS);
	w->counted = at > w->counted ? at : w->counted;
}

/* 1: it cannot be evaluated while threads are on their way. */
static int evaluate(struct following *w, struct expr_value *v)
{
	uint64_t start = clock_ns();
	int r = expr_eval_still(w->f->x, w->f->nav->t.pid, v);

	w->r->evaluations++;
	w->r->evaluate_ns += clock_ns() - start;
	spend(w, expr_cost_ns(w->f->x));
	return r;
}

static bool is_late(struct following *w)
{
	return trace_budget_is_over(&w->budget, w->f->nav->t.pid);
}

static bool is_half_over(struct following *w)
{
	return trace_budget_is_over(&w->half, w->f->nav->t.pid);
}

static bool is_cancelled(const struct following *w)
{
	return op_cancelled(w->f->nav->ctx);
}

/* ---- event by event ---- */

static int look_here(struct following *w, struct err *e)
{
	uint64_t start = clock_ns();
	struct expr_value v;

	if (expr_eval(w->f->x, w->f->g, &w->f->nav->t, &v, e))
		return -1;
	w->r->evaluations++;
	w->r->evaluate_ns += clock_ns() - start;
	spend(w, LOOK_NS + expr_cost_ns(w->f->x));
	put(w, v.truth, nav_at(w->f->nav) - 1);
	return 0;
}

/* Is the way to that event short enough to be replayed for a few further evaluations? */
static bool is_near(struct nav *n, uint64_t to)
{
	struct timeline_event a, b;
	struct err ignored;

	return nav_at(n) && !timeline_read(n->t.tl, nav_at(n), &a, &ignored) &&
	       !timeline_read(n->t.tl, to, &b, &ignored) && b.seconds - a.seconds < NEAR_S;
}

/*
 * There is no time to evaluate at each event: evaluates at equal distances, as often as there is time for, until the
 * expression is good. In half of the time, `looks` evaluations were made.
 */
static int by_some_events(struct following *w, uint64_t to, uint64_t looks, struct err *e)
{
	struct nav *n = w->f->nav;
	uint64_t stride = (to - nav_at(n)) / (looks < LOOKS_MIN ? LOOKS_MIN : looks) + 1;

	while (nav_at(n) < to && w->r->last != PRED_GOOD && !is_cancelled(w))
		if (nav_goto(n, to - nav_at(n) > stride ? nav_at(n) + stride : to, e) || look_here(w, e))
			return -1;
	w->skipped = true;
	return 0;
}

static int by_events(struct following *w, uint64_t to, struct err *e)
{
	struct nav *n = w->f->nav;
	uint64_t from = nav_at(n);

	w->r->by_events |= from < to;
	while (nav_at(n) < to && !is_late(w) && !w->over) {
		if (!w->f->nth && w->r->last != PRED_GOOD && is_half_over(w) && is_near(n, to))
			return by_some_events(w, to, nav_at(n) - from, e);
		if (nav_goto(n, nav_at(n) + 1, e) || look_here(w, e))
			return -1;
	}
	return 0;
}

/* ---- from change to change ---- */

/* The words' pieces become the debug registers of every thread. 1: there are too many. */
static int arm(struct following *w)
{
	struct trace_word piece[WATCHES];
	unsigned n = trace_words_pieces(&w->words, WATCHES, piece);

	for (unsigned i = 0; i < WATCHES; i++)
		w->group.slot[i] =
			i < n ? (struct group_slot){GROUP_WRITE, piece[i].addr, piece[i].len} : (struct group_slot){0};
	return n ? 0 : 1;
}

static bool same_words(const struct trace_words *a, const struct trace_words *b)
{
	return a->n == b->n && a->complete == b->complete && !memcmp(a->w, b->w, a->n * sizeof(a->w[0]));
}

/* ---- to the end of the statement ---- */

/*
 * Looks at the next instruction of a copy. *over: it belongs to another statement, or to the recorder, in which the
 * copy would wait for ever.
 */
static int look_at_line(struct following *w, struct trace *t, struct trace_line *line, bool *over, struct err *e)
{
	uint64_t pc, number;
	uint16_t code;
	bool begins;

	if (trace_get_pc(t, &pc, e))
		return -1;
	number = statements_at(w->f->statements, t->pid, pc, &begins);
	*over = trace_line_begins(line, number, pc, begins) || visibility_is_shim(&w->visibility, pc) ||
		trace_read(t->pid, pc, &code, sizeof(code), NULL) || code == 0x050f;
	return 0;
}

static int go_through(struct following *w, struct trace *t, struct trace_line *line, enum pred_side *side,
		      struct err *e)
{
	bool over = false;

	for (unsigned i = 0; i < TRACE_LINE_STEPS && !over; i++) {
		struct trace_stop stop;
		struct expr_value v;
		enum pred_side now;

		if (trace_step(t, 0, &stop, e))
			return -1;
		if (!t->alive || stop.why == TRACE_SIGNAL)
			return 0;
		if (expr_eval_still(w->f->x, t->pid, &v))
			return 0;
		spend(w, STEP_NS + expr_cost_ns(w->f->x));
		now = pred_side(w->f->pred, v.truth);
		if (now != PRED_NONE)
			*side = now;
		if (look_at_line(w, t, line, &over, e))
			return -1;
	}
	return 0;
}

/*
 * The last instruction of this thread has changed the expression to *side. *side becomes what it is at the end of the
 * statement, if that end is found within TRACE_LINE_STEPS.
 */
static int end_statement(struct following *w, struct trace *t, enum pred_side *side, struct err *e)
{
	struct trace_line line = {0};
	struct user_regs_struct regs;
	struct trace copy;
	bool over, ignored;
	int r;

	if (trace_get_regs(t, &regs, e))
		return -1;
	if (regs.gs_base) /* the PC is in the recorder's translated code, which belongs to no statement */
		return 0;
	line = (struct trace_line){statements_at(w->f->statements, t->pid, regs.rip - 1, &ignored), regs.rip - 1};
	if (look_at_line(w, t, &line, &over, e))
		return -1;
	if (over)
		return 0;
	if (trace_fork(t, w->gadget, &copy, e))
		return -1;
	spend(w, COPY_NS);
	r = segment_unshare(&copy, e) || trace_clear_all(&copy, e) || go_through(w, &copy, &line, side, e) ? -1 : 0;
	trace_kill(&copy);
	return r;
}

/* This thread has written a watched word. 1: what the expression reads now cannot be watched. */
static int changed(struct following *w, struct trace *t, struct err *e)
{
	struct trace_words words;
	struct expr_value v;
	enum pred_side side, then;

	spend_way(w, ctl(w)->turn);
	spend(w, HIT_NS);
	if (evaluate(w, &v))
		return 1;
	w->hits++;
	w->sum = (w->sum ^ (uint64_t)v.truth) * 0x100000001b3u; /* FNV-1a */
	then = side = pred_side(w->f->pred, v.truth);
	if (w->f->statements && side != PRED_NONE && side != w->r->last && end_statement(w, t, &then, e))
		return -1;
	if (then == side)
		put_change(w, v.truth, ctl(w)->turn);
	to_words(w, &v.words, &words);
	if (same_words(&words, &w->words))
		return 0;
	w->words = words;
	/* debug registers can be set only while all threads are stopped */
	if (group_stop(&w->group, e))
		return -1;
	return arm(w) ? 1 : group_resume(&w->group, 0, e);
}

/* Sets w->over if the process has reached `until`, or cannot go on. */
static void hear(struct following *w)
{
	uint32_t notify = __atomic_load_n(&ctl(w)->notify, __ATOMIC_ACQUIRE);
	uint32_t state = __atomic_load_n(&ctl(w)->state, __ATOMIC_ACQUIRE);
	struct err why;

	if (notify == w->notify)
		return;
	w->notify = notify;
	if (state == REPLAY_PARKED || state == REPLAY_ENDED) {
		w->over = true;
		w->r->reached = state == REPLAY_ENDED || w->until == w->f->until;
	} else if (target_is_lost(&w->f->nav->t, &why)) {
		log_warn("%s", why.text);
		w->over = true;
	}
}

/*
 * All threads wait at `until`. Is the value there that of the last change that was seen? It may not be: the kernel
 * changes memory without a hit, and a processor may miss a hit (localsearch/local_last.c).
 */
static int check_end(struct following *w)
{
	struct expr_value v;
	enum pred_side side;

	if (w->f->nth || __atomic_load_n(&ctl(w)->state, __ATOMIC_ACQUIRE) != REPLAY_PARKED)
		return 0;
	if (evaluate(w, &v))
		return 1;
	side = pred_side(w->f->pred, v.truth);
	w->missed = side != PRED_NONE && side != w->r->last;
	return 0;
}

/* Handles one stop of one thread, and lets it go on. 1: the changes cannot be followed any more. */
static int take(struct following *w, struct group_thread *th, const struct trace_stop *s, struct err *e)
{
	int r = 0;

	if (s->why == TRACE_SIGNAL)
		th->sig = s->info.si_signo;
	if (s->why == TRACE_HIT)
		r = changed(w, &th->t, e);
	if (r)
		return r;
	return th->t.alive ? group_resume_one(&w->group, th, e) : 0;
}

static int wait_for_changes(struct following *w, struct err *e)
{
	unsigned stops = 0;

	while (!w->over) {
		struct group_thread *th = NULL;
		struct trace_stop s;
		int got = group_wait(&w->group, POLL_MS, &th, &s, e), r = 0;

		if (got == 2) {
			w->r->reached = ctl(w)->turn >= w->f->until;
			return 0;
		}
		if (got == 1)
			r = take(w, th, &s, e);
		if (got < 0 || r)
			return got < 0 ? -1 : r;
		if (got == 1 && is_late(w)) /* after the same stop in each run */
			return 0;
		if (got == 1 && ++stops % ASK_STOPS)
			continue;
		hear(w);
		if (is_cancelled(w))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (is_late(w))
			return 0;
	}
	return 0;
}

static int begin_group(struct following *w, struct err *e)
{
	struct target *t = &w->f->nav->t;
	uint64_t most;

	if (trace_prepare(true, e) || (t->cpu >= 0 && trace_pin(0, t->cpu, e)) || group_seize(&w->group, t->pid, e))
		return -1;
	if (w->f->statements &&
	    (segment_find_gadget(t->pid, &w->gadget, e) || visibility_find(t->pid, &w->visibility, e)))
		return -1;
	arm(w);
	most = trace_budget_left(&w->budget, t->pid) / EVENT_NS + 1;
	w->until = w->f->until - nav_at(w->f->nav) < most ? w->f->until : nav_at(w->f->nav) + most;
	ctl(w)->blind++; /* data is watched, not code: computations may run translated */
	w->notify = __atomic_load_n(&ctl(w)->notify, __ATOMIC_ACQUIRE);
	target_release(t, w->until);
	return group_resume(&w->group, 0, e);
}

/* The process cannot be used afterwards. 1: the expression now reads more words than there are debug registers. */
static int by_changes(struct following *w, struct err *e)
{
	struct target *t = &w->f->nav->t;
	struct err why;
	int r = begin_group(w, e);

	if (!r)
		r = wait_for_changes(w, e);
	settle_latest(w);
	if (!r && w->r->reached)
		r = check_end(w);
	w->r->at = ctl(w)->turn;
	w->r->exact = !r && w->r->reached;
	w->left_ns = trace_budget_left(&w->budget, t->pid);
	group_kill(&w->group);
	t->pid = 0;
	target_kill(t);
	if (segment_end_tracing(r < 0 ? &why : e))
		r = -1;
	return r;
}

/* Does the process become its child at a fork on the way (`follow`)? The tracer cannot follow it then. */
static bool has_forks_ahead(const struct nav *n)
{
	return nav_at(n) < timeline_prefix(n->t.tl) && timeline_prefix(n->t.tl) > timeline_base(n->t.tl);
}

static int begin(struct following *w, struct err *e)
{
	struct nav *n = w->f->nav;
	struct expr_value v;

	if (expr_eval(w->f->x, w->f->g, &n->t, &v, e))
		return -1;
	w->r->evaluations++;
	put(w, v.truth, nav_at(n) ? nav_at(n) - 1 : 0);
	w->words = (struct trace_words){0};
	if (v.told)
		to_words(w, &v.words, &w->words);
	return 0;
}

/* Goes on event by event from where the words became too many, or a call could not be interpreted. */
static int go_on_by_events(struct following *w, struct err *e)
{
	struct nav *n = w->f->nav;

	if (nav_goto(n, w->r->at, e) || by_events(w, w->f->until, e))
		return -1;
	w->r->at = nav_at(n);
	w->r->reached = w->r->at >= w->f->until && !w->skipped;
	return 0;
}

static int run(struct following *w, struct err *e)
{
	struct nav *n = w->f->nav;
	bool gap = has_forks_ahead(n);
	struct trace_word piece[WATCHES];
	int r;

	if (begin(w, e))
		return -1;
	if (nav_at(n) >= w->f->until) {
		w->r->at = nav_at(n);
		w->r->reached = w->r->exact = true;
		return 0;
	}
	if (gap && w->words.complete) {
		uint64_t prefix = timeline_prefix(n->t.tl);

		if (by_events(w, prefix < w->f->until ? prefix : w->f->until, e) || begin(w, e))
			return -1;
	}
	if (is_late(w) || w->no_changes || nav_at(n) >= w->f->until || w->over ||
	    !trace_words_pieces(&w->words, WATCHES, piece)) {
		if (by_events(w, w->f->until, e))
			return -1;
		w->r->at = nav_at(n);
		w->r->reached = w->r->at >= w->f->until && !w->skipped;
		return 0;
	}
	r = by_changes(w, e);
	w->r->exact &= !gap;
	return r == 1 && !is_late(w) ? go_on_by_events(w, e) : r < 0 ? -1 : 0;
}

static int run_anew(struct following *w, uint64_t budget_ns, struct err *e)
{
	*w->r = (struct follow_result){.last = PRED_NONE};
	w->counted = nav_at(w->f->nav);
	trace_budget_begin_work(&w->budget, budget_ns, w->f->nav->t.pid);
	trace_budget_begin_work(&w->half, budget_ns / 2, w->f->nav->t.pid);
	return run(w, e);
}

/* Were all changes up to the end evaluated, except for those whose hits a processor has missed? */
static bool is_whole(const struct following *w)
{
	return w->r->exact || (w->f->nth && w->r->turns == w->f->nth && !w->r->by_events);
}

/* What was found by the run before, for comparison. */
struct earlier_run {
	struct follow_result r;
	uint64_t hits, sum, left_ns;
	bool missed;
};

static bool same_hits(const struct earlier_run *a, const struct following *b)
{
	return a->hits == b->hits && a->sum == b->sum && a->r.turns == b->r->turns && a->r.turn == b->r->turn &&
	       a->r.in_segment == b->r->in_segment;
}

/*
 * A processor misses a hit now and then. So what was found by hits counts only if two consecutive runs find the same.
 * The last of the runs does without hits: it looks at the value at each event.
 */
int follow_run(const struct follow *f, struct follow_result *r, struct err *e)
{
	struct following w = {.f = f, .r = r};
	struct earlier_run before = {0};
	uint64_t evaluations = 0, start = clock_ns(), from = nav_at(f->nav);
	int status = run_anew(&w, f->budget_ns, e);

	for (unsigned tries = 1; !status && (w.missed || (is_whole(&w) && (w.hits || before.hits))); tries++) {
		if (before.hits && !w.missed && same_hits(&before, &w))
			break;
		if (w.missed || before.hits)
			log_warn("up to event %llu, a change was missed: %s", (unsigned long long)r->at,
				 tries == TRIES ? "event by event" : "once more");
		before = (struct earlier_run){*r, w.hits, w.sum, w.left_ns, w.missed};
		evaluations += r->evaluations;
		w = (struct following){.f = f, .r = r, .no_changes = tries == TRIES};
		status = nav_goto(f->nav, from, e) || run_anew(&w, tries == 1 ? f->budget_ns : before.left_ns, e) ? -1
														  : 0;
		if (!status && !before.missed && !w.no_changes && !w.missed && !is_whole(&w)) { /* the time was up */
			if (f->nth)
				return err_set(e, ERR_HOST, "there was no time to count the transitions twice");
			evaluations += r->evaluations - before.r.evaluations;
			*r = before.r;
			r->exact = false;
			break;
		}
	}
	r->evaluations += evaluations;
	r->total_ns = clock_ns() - start;
	log_info("from event %llu to %llu of %llu: %llu evaluations, %s%s", (unsigned long long)from,
		 (unsigned long long)r->at, (unsigned long long)f->until, (unsigned long long)r->evaluations,
		 r->exact ? "all changes" : "not all changes", r->turned ? ", it turned again" : "");
	return status;
}
