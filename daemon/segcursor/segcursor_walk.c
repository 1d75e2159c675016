/* SPDX-License-Identifier: MIT */
/*
 * segcursor_walk.c: walks of copies. A breakpoint costs ten microseconds each time it is met. If an address is passed a
 * million times on the way to a goal, a copy executes this way in translated code (trace/walk.h), which counts arrivals
 * in nanoseconds. If a walk does not reach its goal, nothing is concluded from that: the caller uses breakpoints.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "trace/budget.h"
#include "visibility/shim_frames.h"

/* The goal of a walk, and its limits. */
struct walker {
	struct segcur *in;
	int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e);
	void *ctx;
	struct trace_budget budget; /* not begun: no limit */
	pid_t pid; /* of the copy that walks */
	bool lost; /* the copy has passed the segment's end */
};

static int is_goal(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e)
{
	struct walker *w = ctx;

	return w->is_goal(w->ctx, t, tell, e);
}

static int is_state(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e)
{
	return segcur_is_goal_tell(ctx, t, tell, e);
}

static void see_changes(void *ctx, const struct replay_walk *ask, uint64_t from)
{
	const struct walker *w = ctx;

	while (from++ < ask->changes)
		w->in->look->change(w->in->look, &ask->log[from % REPLAY_WALK_LOG]);
}

static bool is_late(struct walker *w)
{
	return w->lost || (w->budget.ns && trace_budget_is_over(&w->budget, w->pid));
}

static int ended(void *ctx, struct trace *t, bool *over, struct err *e)
{
	struct walker *w = ctx;

	return segment_is_over(&w->in->seg, t->pid, over, e);
}

static bool cancelled(void *ctx)
{
	struct walker *w = ctx;
	struct err ignored;
	uint64_t ns;

	w->lost = !trace_cpu_ns(w->pid, &ns, &ignored) && segcur_is_lost(w->in, ns, &ignored) > 0;
	return is_late(w) || (w->in->interrupted && w->in->interrupted(w->in->ctx));
}

/* Walks with int3s at the rare points. */
static int walk_with(struct trace *t, struct trace_walk *w, struct breaks *rare, struct err *e)
{
	int r;

	if (trace_clear_all(t, e) || breaks_insert(rare, t->pid, e))
		return -1;
	r = trace_walk_go(w, t, e);
	return (r == WALK_THERE || r == WALK_LEFT) && breaks_take_out(rare, t->pid, e) ? -1 : r;
}

/*
 * A walk ends in the recorder when a signal handler returns to it. Runs t to where the program continues: in between,
 * the recorder calls no code of the program without an event. WALK_THERE, WALK_OVER, WALK_LEFT: the walk has ended
 * elsewhere, and t stays; or WALK_CANNOT.
 */
static int pass_shim(struct segcur *in, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop;
	int got;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (!shim_frames_caller(in->shim_frames, &in->visibility, t->pid, &r) || !segcur_is_visible_code(in, r.rip))
		return WALK_LEFT;
	got = segcur_run_to_frame(in, t, &r, &stop, e);
	if (got < 0)
		return -1;
	if (stop.kind == STOP_OVER)
		return WALK_OVER;
	return got ? WALK_CANNOT : WALK_THERE;
}

/* As walk_with, but continues after the ends of handlers. */
static int walk_on(struct segcur *in, struct trace *t, struct trace_walk *w, struct breaks *rare, struct err *e)
{
	uint64_t goals = 0, arrivals = 0;
	int r;

	while ((r = walk_with(t, w, rare, e)) == WALK_LEFT && w->ask.counted) {
		r = pass_shim(in, t, e);
		if (r != WALK_THERE)
			break;
		w->resumed = true;
		goals += w->ask.goals;
		arrivals += w->ask.arrivals;
		w->ask.nth -= w->ask.nth ? w->ask.arrivals : 0;
		w->ask.goals = w->ask.arrivals = 0;
	}
	w->ask.goals += goals;
	w->ask.arrivals += arrivals;
	return r;
}

/*
 * Walks begin in the program: if the recorder is about to call a handler, in the handler. 1: the handler is one of the
 * recorder's own functions.
 */
static int enter_handler(struct segcur *in, struct trace *t, struct err *e)
{
	struct trace_stop stop;
	uint64_t pc;

	if (trace_step(t, 0, &stop, e) || trace_get_pc(t, &pc, e))
		return -1;
	return visibility_is_shim(&in->visibility, pc);
}

/*
 * A copy of `from` walks past the points of b. 0: it has reached its goal; SEGCUR_WALK_LEFT: it is elsewhere; otherwise
 * the copy does not exist any more.
 */
static int walk_or_leave(struct walker *walker, struct trace *from, struct trace_walk *w, const struct breaks *b,
			 struct trace *t, struct err *e)
{
	static const struct trace_walk_ops few = {.is_goal = is_goal, .ended = ended, .cancelled = cancelled},
					   all = {.is_goal = is_goal,
						  .ended = ended,
						  .cancelled = cancelled,
						  .changes = see_changes};
	struct segcur *in = walker->in;
	struct breaks rare = {0};
	uint64_t pc;
	bool calls;
	int r;

	if (trace_get_pc(from, &pc, e))
		return -1;
	calls = visibility_is_call_of_handler(&in->visibility, pc);
	if (visibility_is_shim(&in->visibility, pc) && !calls)
		return 1;
	w->enter = in->seg.t->ctl->walk_addr;
	w->gadget = in->seg.gadget;
	w->end_watch = SEGMENT_TURN_ADDR;
	w->ops = in->look && in->look->change ? &all : &few;
	w->ctx = walker;
	if (segcur_copy(in, from, t, e))
		return -1;
	r = calls ? enter_handler(in, t, e) : 0;
	if (r) {
		segcur_drop(t);
		return r;
	}
	walker->pid = t->pid;
	segcur_walk_ask(in, b, w, &rare);
	r = walk_on(in, t, w, &rare, e);
	breaks_fini(&rare);
	if (r == WALK_THERE)
		return 0;
	if (r == WALK_LEFT && w->ask.counted)
		return SEGCUR_WALK_LEFT;
	segcur_drop(t);
	if (r < 0 && e->kind == ERR_CANCELLED && is_late(walker))
		return 1;
	return r < 0 ? -1 : r == WALK_OVER ? SEGCUR_WALK_OVER : r == WALK_OUTSIDE ? SEGCUR_WALK_OUTSIDE : 1;
}

static int walk_copy_by(struct walker *walker, struct trace *from, struct trace_walk *w, const struct breaks *b,
			struct trace *t, struct err *e)
{
	int r = walk_or_leave(walker, from, w, b, t, e);

	if (r != SEGCUR_WALK_LEFT)
		return r;
	segcur_drop(t);
	return 1;
}

static int walk_copy(struct segcur *in, struct trace *from, struct trace_walk *w, struct goal *g,
		     const struct breaks *b, struct trace *t, struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_state, .ctx = g};

	return walk_copy_by(&walker, from, w, b, t, e);
}

/* Makes the goal's registers those of the walk. */
static int aim(struct trace_walk *w, const struct goal *g, struct err *e)
{
	struct user_regs_struct want;

	if (trace_get_regs(g->want, &want, e))
		return -1;
	w->ask.goal = g->pc;
	trace_walk_want(w, &want);
	return 0;
}

int segcur_walk_to_goal(struct segcur *in, struct trace *from, struct goal *g, const struct breaks *b,
			struct walked *out, struct err *e)
{
	struct trace_walk w = {0};
	int r = g->want ? aim(&w, g, e) : 1;

	if (r)
		return r;
	r = walk_copy(in, from, &w, g, b, &out->t, e);
	out->times = w.ask.goals;
	out->stops = w.ask.arrivals;
	out->changed = w.ask.changed;
	return r;
}

int segcur_walk_count(struct segcur *in, struct trace *from, struct goal *g, const struct breaks *b, uint64_t *stops,
		      struct err *e)
{
	struct trace_walk w = {.outside = true};
	struct trace t;
	int r = g->want ? aim(&w, g, e) : 1;

	if (r)
		return r;
	r = walk_copy(in, from, &w, g, b, &t, e);
	if (!r)
		segcur_drop(&t);
	*stops = w.ask.arrivals;
	return r == SEGCUR_WALK_OUTSIDE ? 0 : r;
}

int segcur_walk_to_state(struct segcur *in, const struct user_regs_struct *want, uint64_t ns,
			 int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e), void *ctx,
			 struct walked *out, struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_goal, .ctx = ctx};
	struct trace_walk w = {.ask.goal = want->rip};
	int r;

	if (!in->marks || !segcur_is_visible_code(in, want->rip))
		return 1;
	trace_walk_want(&w, want);
	trace_budget_begin(&walker.budget, ns, 0);
	r = walk_copy_by(&walker, &in->mark[0], &w, NULL, &out->t, e);
	out->times = w.ask.goals;
	out->stops = 0;
	return r;
}

int segcur_walk_times(struct segcur *in, struct goal *g, uint64_t *times, struct err *e)
{
	struct walked w;
	int r;

	if (!in->times) {
		r = segcur_walk_to_goal(in, &in->mark[0], g, NULL, &w, e);
		if (r)
			return r;
		segcur_drop(&w.t);
		in->times = w.times;
	}
	*times = in->times;
	return 0;
}

int segcur_walk_to_nth(struct segcur *in, struct trace *from, const struct breaks *b, uint64_t nth, struct trace *t,
		       struct err *e)
{
	struct trace_walk w = {.ask.nth = nth};

	return walk_copy(in, from, &w, NULL, b, t, e);
}

/* Sets *stop to the watched word that changed last. */
static void tell_word(const struct breaks *b, const struct trace_walk *w, struct stop *stop)
{
	const struct replay_walk_change *c = &w->ask.log[w->ask.changes % REPLAY_WALK_LOG];
	unsigned n = 0;

	*stop = (struct stop){.kind = STOP_WATCH, .watch = GROUP_WRITE};
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		if (!b->watch[i].kind)
			continue;
		if (c->was[n] != c->now[n])
			stop->addr = b->watch[i].addr;
		n++;
	}
}

/*
 * *t is after change number n, which the instruction at pc has made: moves it to the state before that. More than 0: *t
 * is unchanged.
 */
static int go_before(struct segcur *in, const struct breaks *b, uint64_t n, uint64_t pc, struct trace *t, struct err *e)
{
	struct breaks only = {0}, at = {0};
	struct trace_walk w = {.ask.nth_change = n};
	struct trace there;
	int r;

	memcpy(only.watch, b->watch, sizeof(only.watch));
	breaks_add(&at, pc, 0);
	w.ask.place[w.ask.places++] = pc;
	r = walk_copy(in, &in->mark[0], &w, NULL, &only, &there, e);
	if (!r) {
		segcur_drop(&there);
		r = segcur_walk_to_nth(in, &in->mark[0], &at, w.ask.log[n % REPLAY_WALK_LOG].places, &there, e);
	}
	if (!r) {
		segcur_drop(t);
		*t = there;
	}
	breaks_fini(&at);
	return r;
}

/* A copy of the first mark walks past the stops of b, and continues without a walk where it must: as walk_or_leave. */
static int walk_far(struct segcur *in, struct trace_walk *w, const struct breaks *b, struct trace *t, struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_state};

	return walk_or_leave(&walker, &in->mark[0], w, b, t, e);
}

/* Sets *stop for the change at which the walk has ended. */
static int at_change(struct segcur *in, struct trace_walk *w, const struct breaks *b, struct stop *stop,
		     struct trace *t, struct err *e)
{
	int r = 1;

	tell_word(b, w, stop);
	if (!w->resumed && w->ask.from && segcur_is_visible_code(in, w->ask.from))
		r = go_before(in, b, w->ask.changes, w->ask.from, t, e);
	stop->before = !r;
	return r < 0 ? -1 : 0;
}

int segcur_walk_to_stop(struct segcur *in, struct breaks *b, uint64_t nth, struct stop *stop, struct err *e)
{
	struct trace_walk w = {.ask.nth = nth};
	struct trace t;
	int sig = 0, r = walk_far(in, &w, b, &t, e);

	if (r < 0 || (r && r != SEGCUR_WALK_LEFT))
		return r;
	*stop = (struct stop){.kind = STOP_BREAK};
	if (r)
		r = segcur_run_on(in, &t, b, nth - w.ask.arrivals, &sig, stop, e);
	else if (w.ask.changed_now)
		r = at_change(in, &w, b, stop, &t, e);
	if (r)
		segcur_drop(&t);
	else
		segcur_be_now(in, &t, sig, 1);
	return r;
}

int segcur_walk_from_now(struct segcur *in, const struct breaks *b, struct trace_walk *w, struct trace *t,
			 struct stop *stop, struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_state};
	int r = walk_or_leave(&walker, &in->now, w, b, t, e);

	*stop = (struct stop){.kind = STOP_BREAK};
	if (!r && w->ask.changed_now)
		tell_word(b, w, stop);
	return r;
}

int segcur_walk_on(struct segcur *in, bool fresh, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	struct trace_walk w = {.ask.nth = 1};
	struct trace t;
	uint64_t pc, before = 0;
	int r = in->marks && segcur_is_plain(in, b) ? aim(&w, g, e) : 1;

	if (r)
		return r;
	if (trace_get_pc(&in->now, &pc, e))
		return -1;
	if (fresh && segcur_count_before_walks(in, b, &before, e))
		return -1;
	if (before)
		return 1;
	if (!fresh && breaks_has(b, pc))
		w.ask.nth++; /* the present state counts as the first pass */
	r = walk_copy(in, fresh ? &in->mark[0] : &in->now, &w, g, b, &t, e);
	if (r)
		return r;
	*stop = (struct stop){.kind = w.ask.state == REPLAY_WALK_GOAL ? STOP_GOAL : STOP_BREAK};
	segcur_be_now(in, &t, 0, 1);
	return 0;
}

/* Walks from the first mark to now, and then to the last of the arrivals on that way. w->ask.nth: its number. */
static int walk_over(struct segcur *in, struct breaks *b, struct trace_walk *w, struct goal *g, struct trace *t,
		     struct err *e)
{
	uint64_t times, last;
	int r = walk_copy(in, &in->mark[0], w, g, b, t, e);

	if (r)
		return r;
	segcur_drop(t);
	times = w->ask.goals;
	last = w->ask.arrivals - breaks_has(b, g->pc);
	in->times = times;
	if (!last)
		return 1;
	w->ask.nth = last;
	w->ask.goal = w->ask.words = w->ask.places = 0;
	return walk_copy(in, &in->mark[0], w, NULL, b, t, e);
}

/* Does a change of a watched word after that arrival count as a stop? 1: no; SEGCUR_CHANGED: yes. Others: not known. */
static int is_changed_after(struct segcur *in, struct breaks *b, struct trace_walk *w, struct goal *g, uint64_t last,
			    struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_state, .ctx = g};
	struct segcur_look look;
	struct trace t = {0};
	int r;

	if (aim(w, g, e))
		return -1;
	segcur_look_for_true(in, in->mark[0].pid, b, &look);
	r = walk_or_leave(&walker, &in->mark[0], w, b, &t, e);
	in->look = NULL;
	segcur_drop(&t);
	if (r || w->resumed)
		return r < 0 ? -1 : SEGCUR_WALK_OVER + 1;
	return look.last && look.places >= last ? SEGCUR_CHANGED : 1;
}

int segcur_back_over(struct segcur *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e)
{
	const struct trace_walk range = {.ask = {.range_lo = lo, .range_hi = hi, .range_sp = sp}};
	struct trace_walk w = range, again = range;
	struct breaks points = {.view = b->view};
	struct trace t = {0};
	struct goal g;
	int r;

	if (!in->marks || !segcur_conditions_walkable(in, b))
		return 1;
	if (segcur_goal_init(&g, &in->now, e))
		return -1;
	breaks_add_all(&points, b);
	memset(points.watch, 0, sizeof(points.watch));
	r = aim(&w, &g, e);
	if (!r)
		r = walk_over(in, &points, &w, &g, &t, e);
	/* here it may have entered the range */
	if (!r)
		r = segcur_is_goal(&g, &t, e);
	if (!r && !segcur_is_plain(in, b)) {
		r = is_changed_after(in, b, &again, &g, w.ask.nth, e);
		r = r == 1 ? 0 : r;
	}
	breaks_fini(&points);
	breaks_fini(&g.stop);
	if (!r)
		segcur_be_now(in, &t, 0, 1);
	else
		segcur_drop(&t);
	return r < 0 ? -1 : r == SEGCUR_CHANGED ? r : r > 0;
}

/*
 * Walks from the first mark; without `last` or a goal, through the whole segment. *rest: what was met after the walk
 * could not continue.
 */
static int walk_first_mark(struct segcur *in, struct goal *g, struct breaks *b, struct trace_walk *w, uint64_t *rest,
			   struct err *e)
{
	struct walker walker = {.in = in, .is_goal = is_state, .ctx = g};
	bool to_end = !w->ask.nth_change && !g->want;
	struct trace t = {0};
	int r = to_end || w->ask.nth_change ? 0 : aim(w, g, e);

	*rest = 0;
	if (!r)
		r = walk_or_leave(&walker, &in->mark[0], w, b, &t, e);
	if (r == SEGCUR_WALK_OVER && to_end)
		r = 0;
	else if (r == SEGCUR_WALK_LEFT && to_end)
		r = segcur_count_rest(in, &t, b, rest, e);
	segcur_drop(&t);
	return r;
}

int segcur_walk_log(struct segcur *in, struct goal *g, struct breaks *b, uint64_t place, uint64_t last,
		    struct replay_walk *ask, struct err *e)
{
	struct trace_walk w = {.ask.nth_change = last};
	uint64_t rest = 0;
	int r;

	if (place)
		w.ask.place[w.ask.places++] = place;
	r = in->marks && segcur_is_walkable(in, b) ? walk_first_mark(in, g, b, &w, &rest, e) : 1;
	*ask = w.ask;
	return r ? r : w.resumed || rest;
}

int segcur_walk_changes(struct segcur *in, struct goal *g, struct breaks *b, struct err *e)
{
	struct trace_walk w = {0};
	uint64_t rest;
	int r = walk_first_mark(in, g, b, &w, &rest, e);

	return r < 0 ? -1 : r || rest || w.resumed;
}

int segcur_walk_to_change(struct segcur *in, const struct breaks *b, uint64_t number, struct stop *stop, struct err *e)
{
	struct trace_walk w = {.ask.nth_change = number};
	struct breaks only = {0};
	struct trace t = {0};
	int r;

	memcpy(only.watch, b->watch, sizeof(only.watch));
	r = walk_far(in, &w, &only, &t, e);
	if (!r)
		r = w.ask.changed_now ? at_change(in, &w, b, stop, &t, e) : 1;
	if (!r)
		segcur_be_now(in, &t, 0, 1);
	segcur_drop(&t);
	return r < 0 ? -1 : r > 0;
}

int segcur_walk_all(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct trace_walk w = {0};
	struct trace t = {0};
	uint64_t rest = 0;
	int r = in->marks && segcur_is_walkable(in, b) ? walk_far(in, &w, b, &t, e) : 1;

	if (r == SEGCUR_WALK_LEFT)
		r = segcur_count_rest(in, &t, b, &rest, e);
	else
		r = r == SEGCUR_WALK_OVER ? 0 : r < 0 ? -1 : 1;
	segcur_drop(&t);
	*k = w.ask.arrivals + rest;
	return r;
}
