/* SPDX-License-Identifier: MIT */
/*
 * segcursor_threads.c: are there stops on the way of several threads that take turns? As segcursor_far.c, in a copy
 * that has all of them, each of which walks (trace/walk.h) where it is in the program. The timeline tells whose turn is
 * next: that one is waited for, and the others run on in the recorder up to their wait.
 *
 * Each thread's walk compares what it writes with what its own walk has seen last. A word that another thread has
 * changed would be counted once more by each of them, so they are told of such changes (tell_others). No change would
 * be missed without that: if all that a thread writes in a segment is what it saw last, then either that is what was
 * there at the segment's beginning, and nothing changes, or the word is another one at the segment's end, where words
 * are compared.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "trace/budget.h"
#include "visibility/shim_frames.h"

#define REST_NS 2000000000ull /* after this time, what is known so far is used */
#define SLICE_NS 50000000u
#define END_SLOT (TRACE_SLOTS - 1)
#define CTL_ADDR(field) (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, field))

enum thread_place { RECORDER, RETURNS /* runs to where it returns to the program */, PROGRAM, WALKS };

struct all;
struct one {
	struct all *all;
	struct segcur_thread *of;
	enum thread_place place;
	uint64_t sp; /* RETURNS: the stack pointer in the program */
	struct trace_walk walk;
	uint64_t counted; /* arrivals, up to event out->at */
	bool pending; /* there may have been more after that */
};

struct all {
	struct segcur in;
	struct segcur_far *out;
	const uint32_t *who;
	uint64_t from; /* who[0] moves after this event */
	struct one *v;
	unsigned n;
	struct replay_walk ask; /* what each walk asks for */
	struct breaks rare;
	struct trace_budget budget;
	pid_t pid;
	bool over; /* it is another thread's turn, or the end */
	uint64_t word[REPLAY_WALK_WATCHES]; /* the watched words, at event out->at */
};

static int read_words(struct all *a, uint64_t word[REPLAY_WALK_WATCHES], struct err *e)
{
	return segcur_walk_words(&a->ask, a->pid, word, e);
}

/* Tells the walks of the other threads the present values of the words. */
static int tell_others(struct one *o, struct err *e)
{
	struct all *a = o->all;
	uint64_t minus[REPLAY_WALK_WATCHES];

	for (unsigned i = 0; i < a->ask.watches; i++)
		minus[i] = -a->word[i];
	for (unsigned i = 0; i < a->n; i++) {
		uint64_t at = &a->v[i] == o ? 0 : a->v[i].walk.ask.minus_at;

		if (at && trace_write(a->pid, at, minus, a->ask.watches * sizeof(minus[0]), e))
			return -1;
	}
	return 0;
}

/* This thread has come to the event after out->at. */
static int at_event(struct one *o, struct err *e)
{
	struct all *a = o->all;
	uint64_t word[REPLAY_WALK_WATCHES], n = o->counted;
	bool may;

	if (read_words(a, word, e) ||
	    (o->walk.ask.count_at && trace_read(a->pid, o->walk.ask.count_at, &n, sizeof(n), e)))
		return -1;
	may = o->pending || n != o->counted || memcmp(word, a->word, sizeof(word)) != 0;
	o->counted = n;
	o->pending = false;
	memcpy(a->word, word, sizeof(word));
	if (may)
		a->out->maybe(a->out->ctx, a->out->at);
	a->out->at++;
	return may ? tell_others(o, e) : 0;
}

static struct one *whose_turn(const struct all *a)
{
	for (unsigned i = 0; i < a->n && a->out->at < a->out->to; i++)
		if (a->v[i].of->ordinal == a->who[a->out->at - a->from])
			return &a->v[i];
	return NULL;
}

static int ended(void *ctx, struct trace *t, bool *over, struct err *e)
{
	struct one *o = ctx;
	struct all *a = o->all;
	uint64_t turn;

	if (segment_read_turn(t->pid, &turn, over, e))
		return -1;
	if (!*over && turn == a->out->at + 1 && at_event(o, e))
		return -1;
	*over |= turn > a->out->at || (turn == a->out->at && whose_turn(a) != o);
	a->over |= *over;
	return 0;
}

static bool is_late(void *ctx)
{
	struct one *o = ctx;

	return trace_budget_is_over(&o->all->budget, o->all->pid);
}

static bool interrupted(void *ctx)
{
	struct all *a = ctx;

	return trace_budget_is_over(&a->budget, a->pid);
}

/*
 * The thread is in the recorder, or at a system call in the program: sets a breakpoint where it returns to the program.
 * 1: not known.
 */
static int find_return(struct one *o, struct err *e)
{
	struct segcur *in = &o->all->in;
	struct trace *t = &o->of->t;
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (trace_is_syscall(t, r.rip) && segcur_is_visible_code(in, r.rip))
		r.rip += TRACE_SYSCALL_BYTES;
	else if (!shim_frames_caller(in->shim_frames, &in->visibility, t->pid, &r) ||
		 !segcur_is_visible_code(in, r.rip))
		return 1;
	if (trace_set_break(t, 0, r.rip, e) || trace_set_watch(t, END_SLOT, SEGMENT_TURN_ADDR, 8, e))
		return -1;
	o->sp = r.rsp;
	o->place = RETURNS;
	return 0;
}

/*
 * The thread is at the breakpoint of find_return. *there: it has returned, and is not in a nested call of the recorder.
 */
static int at_break(struct one *o, bool *there, struct err *e)
{
	uint64_t word[REPLAY_WALK_WATCHES];
	struct user_regs_struct r;

	if (trace_get_regs(&o->of->t, &r, e))
		return -1;
	*there = r.rsp == o->sp;
	if (!*there)
		return 0;
	if (trace_clear_all(&o->of->t, e) || read_words(o->all, word, e))
		return -1;
	o->pending |= memcmp(word, o->all->word, sizeof(word)) != 0;
	o->place = PROGRAM;
	return 0;
}

/* Runs to that return, or to the end of the thread's turn. 1: it has stopped elsewhere. */
static int run_to_return(struct one *o, struct err *e)
{
	const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct trace *t = &o->of->t;
	struct trace_stop s;
	bool there = false;
	int sig = 0;

	while (!there && !o->all->over) {
		bool over;

		if (trace_cont(t, sig, &slice, &s, e))
			return -1;
		sig = s.why == TRACE_SIGNAL && s.info.si_signo == SIGSYS ? SIGSYS : 0;
		if (s.why == TRACE_EXITED || (s.why == TRACE_SIGNAL && !sig) || is_late(o))
			return 1;
		if (s.why != TRACE_SIGNAL && !(s.slots & 1) && ended(o, t, &over, e))
			return -1;
		if (s.slots & 1 && at_break(o, &there, e))
			return -1;
	}
	return 0;
}

/* Walks in the program. Returns enum walk_end, or -1. */
static int walk(struct one *o, struct err *e)
{
	static const struct trace_walk_ops ops = {.ended = ended, .cancelled = is_late};

	if (o->walk.ask.count_at) {
		o->walk.resumed = true;
	} else {
		o->walk.ask = o->all->ask;
		o->walk.enter = o->all->in.seg.t->ctl->walk_addr;
		o->walk.gadget = o->all->in.seg.gadget;
		o->walk.end_watch = SEGMENT_TURN_ADDR;
		o->walk.stays = true;
		o->walk.ops = &ops;
		o->walk.ctx = o;
	}
	o->place = WALKS;
	return trace_walk_go(&o->walk, &o->of->t, e);
}

/* Moves to the end of the thread's turn. 1: it has not come there. */
static int move(struct one *o, struct err *e)
{
	struct all *a = o->all;
	int r = 0;

	a->over = false;
	if (o->place == WALKS)
		r = trace_walk_on(&o->walk, &o->of->t, e);
	while (!a->over && r >= 0) {
		if (o->place == WALKS && r != WALK_LEFT)
			return 1;
		if (o->place == WALKS)
			o->place = RECORDER;
		r = o->place == RECORDER ? find_return(o, e) : 0;
		if (!r && o->place == RETURNS)
			r = run_to_return(o, e);
		if (r)
			return r;
		if (o->place == PROGRAM)
			r = walk(o, e);
	}
	return r < 0 ? -1 : 0;
}

static int go(struct all *a, struct err *e)
{
	struct one *o = whose_turn(a);
	int r = 0;

	while (o && !r) {
		struct one *next;
		uint64_t at = a->out->at;

		r = move(o, e);
		next = whose_turn(a);
		if (a->out->at == at)
			break;
		if (next && next != o && !r && trace_let_run(&o->of->t, e))
			return -1;
		o = next;
	}
	return r < 0 && !(e->kind == ERR_CANCELLED && interrupted(a)) ? -1 : 0;
}

/* The first thread stands in the program, the others in the recorder. */
static int begin(struct all *a, struct segcur_thread *first, struct err *e)
{
	uint64_t pc;

	if (trace_get_pc(&first->t, &pc, e))
		return -1;
	for (unsigned i = 0; i < a->n; i++)
		if (a->v[i].of == first && !visibility_is_shim(&a->in.visibility, pc))
			a->v[i].place = PROGRAM;
	if (trace_clear_all(&first->t, e) || segment_find_gadget(a->pid, &a->in.seg.gadget, e) ||
	    trace_write(a->pid, CTL_ADDR(stop_at), &a->out->to, sizeof(a->out->to), e) ||
	    breaks_insert(&a->rare, a->pid, e))
		return -1;
	trace_budget_begin(&a->budget, REST_NS, a->pid);
	return read_words(a, a->word, e);
}

int segcur_go_far_all(struct target *target, uint64_t n, struct segcur_thread *v, unsigned threads, const uint32_t *who,
		      const struct process_view *view, struct breaks *b, struct segcur_far *out, struct err *e)
{
	struct trace_walk asks = {0};
	struct all a = {.in = {.n = out->to - 1,
			       .visibility = *view->visibility,
			       .shim_frames = view->shim_frames,
			       .seg = {.t = target, .n = out->to - 1, .tid = v[0].t.tid},
			       .interrupted = interrupted},
			.out = out,
			.who = who,
			.from = n,
			.n = threads,
			.pid = v[0].t.pid};
	int r;

	out->at = n;
	a.in.ctx = &a;
	if (!segcur_conditions_walkable(&a.in, b))
		return 0;
	segcur_walk_ask(&a.in, b, &asks, &a.rare);
	a.ask = asks.ask;
	a.v = xcalloc(threads, sizeof(*a.v));
	for (unsigned i = 0; i < threads; i++)
		a.v[i] = (struct one){.all = &a, .of = &v[i]};
	r = begin(&a, v, e) || go(&a, e) ? -1 : 0;
	breaks_fini(&a.rare);
	free(a.v);
	return r;
}
