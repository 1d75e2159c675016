/* SPDX-License-Identifier: MIT */
/*
 * segcursor_far.c: are there stops on the way of a thread? A copy walks on (segcursor_walk.c), also past events, as
 * long as no other thread moves and no memory is mapped: so one fork and one translation are enough for many segments.
 * The copy is stopped where the recorder counts an event; what was counted since the event before belongs to the
 * segment between the two.
 */
#include <stddef.h>
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "trace/budget.h"
#include "visibility/shim_frames.h"

#define REST_NS 2000000000ull /* after this time, what is known so far is used */
#define CTL_ADDR(field) (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, field))

struct far {
	struct segcur in;
	struct segcur_far *out;
	struct breaks *b;
	struct breaks rare;
	struct trace *t; /* the copy */
	struct trace_walk walk;
	struct trace_budget budget;
	struct segcur_look look;
	/* up to event out->at: arrivals, or with conditions the number of the last change at which one was true */
	uint64_t counted;
	bool pending; /* earlier walks have counted some after that event */
	uint64_t changes; /* up to that event: changes, whether conditions were true or not */
	bool changed; /* there was a change after that event */
	uint64_t word[REPLAY_WALK_WATCHES]; /* the watched words at event out->at */
};

static int read_words(struct far *f, uint64_t word[REPLAY_WALK_WATCHES], struct err *e)
{
	return segcur_walk_words(&f->walk.ask, f->t->pid, word, e);
}

/* Reads what the walk has counted so far. */
static int count(struct far *f, uint64_t *n, struct err *e)
{
	if (!f->in.look)
		return trace_read(f->t->pid, f->walk.ask.count_at, n, sizeof(*n), e);
	if (trace_walk_tell(&f->walk, f->t, e))
		return -1;
	*n = f->look.last;
	return 0;
}

/* The copy has come to the event after out->at, and has counted n so far. */
static void at_event(struct far *f, uint64_t n, const uint64_t word[REPLAY_WALK_WATCHES])
{
	struct segcur_far *out = f->out;
	uint64_t changes = f->in.look ? f->walk.told : n;
	bool changed = f->changed || changes != f->changes,
	     may = f->pending || n != f->counted || (!changed && memcmp(word, f->word, sizeof(f->word)));

	f->counted = n;
	f->changes = changes;
	f->pending = f->changed = false;
	memcpy(f->word, word, sizeof(f->word));
	if (may && out->maybe)
		out->maybe(out->ctx, out->at);
	out->found = may && !out->maybe;
	if (!out->found)
		out->at++;
}

/* The walk has stopped at an event, or cannot continue. */
static int ended(void *ctx, struct trace *t, bool *over, struct err *e)
{
	struct far *f = ctx;
	uint64_t word[REPLAY_WALK_WATCHES], turn, n;

	if (segment_read_turn(t->pid, &turn, over, e))
		return -1;
	if (*over || turn <= f->out->at)
		return 0;
	if (turn == f->out->at + 1) {
		if (read_words(f, word, e) || count(f, &n, e))
			return -1;
		at_event(f, n, word);
	}
	*over = f->out->at != turn || turn >= f->out->to;
	return 0;
}

static void see_changes(void *ctx, const struct replay_walk *ask, uint64_t from)
{
	struct far *f = ctx;

	while (from++ < ask->changes)
		f->look.change(&f->look, &ask->log[from % REPLAY_WALK_LOG]);
}

static bool is_late(void *ctx)
{
	struct far *f = ctx;

	return trace_budget_is_over(&f->budget, f->t->pid);
}

/* Finds where the copy returns to the program from code that is not translated. 1: not known. */
static int find_return(struct far *f, struct user_regs_struct *r, struct err *e)
{
	if (trace_get_regs(f->t, r, e))
		return -1;
	if (trace_is_syscall(f->t, r->rip)) {
		r->rip += TRACE_SYSCALL_BYTES;
		return 0;
	}
	return !shim_frames_caller(f->in.shim_frames, &f->in.visibility, f->t->pid, r) ||
	       !segcur_is_visible_code(&f->in, r->rip);
}

/*
 * At a system call in the program's code, or at the end of a handler: runs to where the program continues. 1: it did
 * not come there, or a watched word has changed on the way.
 */
static int pass_untranslated(struct far *f, struct err *e)
{
	uint64_t word[REPLAY_WALK_WATCHES], now[REPLAY_WALK_WATCHES], turn;
	struct user_regs_struct r;
	struct stop stop;
	int got = find_return(f, &r, e);

	if (got || read_words(f, word, e))
		return got ? got : -1;
	got = segcur_run_to_frame(&f->in, f->t, &r, &stop, e);
	if (got < 0 || read_words(f, now, e) || trace_read(f->t->pid, SEGMENT_TURN_ADDR, &turn, sizeof(turn), e))
		return -1;
	if (turn > f->out->at + 1 || memcmp(word, now, sizeof(now)))
		return 1;
	if (turn > f->out->at)
		at_event(f, f->in.look ? f->look.last : f->walk.ask.arrivals, now);
	return f->out->at != turn ? 1 : got;
}

/* Walks with int3s at the rare points. */
static int walk(struct far *f, struct err *e)
{
	int r;

	if (trace_clear_all(f->t, e) || breaks_insert(&f->rare, f->t->pid, e))
		return -1;
	if (f->in.look) { /* changes are counted from 0 again */
		f->pending |= f->look.last != f->counted;
		f->changed |= f->walk.told != f->changes;
		f->look.last = f->counted = f->changes = 0;
	}
	r = trace_walk_go(&f->walk, f->t, e);
	return (r == WALK_THERE || r == WALK_LEFT) && breaks_take_out(&f->rare, f->t->pid, e) ? -1 : r;
}

static int go(struct far *f, struct err *e)
{
	int r;

	while ((r = walk(f, e)) == WALK_LEFT && f->walk.ask.counted) {
		r = pass_untranslated(f, e);
		if (r)
			break;
		f->walk.resumed = true;
	}
	return r < 0 && !(e->kind == ERR_CANCELLED && is_late(f)) ? -1 : 0;
}

/* Sets what the walk counts. A log of changes is read from its beginning; then breakpoints are rare points. */
static void ask(struct far *f)
{
	static const struct trace_walk_ops few = {.ended = ended, .cancelled = is_late},
					   all = {.ended = ended, .cancelled = is_late, .changes = see_changes};
	struct replay_walk *a = &f->walk.ask;

	segcur_walk_ask(&f->in, f->b, &f->walk, &f->rare);
	for (; f->in.look && a->places; a->places--)
		breaks_add(&f->rare, a->place[a->places - 1], 0);
	f->walk.ops = f->in.look ? &all : &few;
	f->walk.ctx = f;
	f->walk.stays = !f->in.look;
	f->walk.end_watch = SEGMENT_TURN_ADDR;
}

int segcur_go_far(struct target *target, uint64_t n, struct trace *t, const struct process_view *view, struct breaks *b,
		  struct segcur_far *out, struct err *e)
{
	struct far f = {.in = {.n = out->to - 1,
			       .visibility = *view->visibility,
			       .shim_frames = view->shim_frames,
			       .seg = {.t = target, .n = out->to - 1, .tid = t->tid},
			       .interrupted = is_late},
			.out = out,
			.b = b,
			.t = t,
			.walk.enter = target->ctl->walk_addr};
	uint64_t pc;
	int r;

	out->at = n;
	f.in.ctx = &f;
	if (trace_get_pc(t, &pc, e))
		return -1;
	if (segcur_has_conditions(b))
		segcur_look_for_true(&f.in, t->pid, b, &f.look);
	if (!segcur_conditions_walkable(&f.in, b) || visibility_is_shim(&f.in.visibility, pc))
		return 0;
	if (segment_find_gadget(t->pid, &f.in.seg.gadget, e) ||
	    trace_write(t->pid, CTL_ADDR(stop_at), &out->to, sizeof(out->to), e))
		return -1;
	f.walk.gadget = f.in.seg.gadget;
	trace_budget_begin(&f.budget, REST_NS, t->pid);
	ask(&f);
	r = read_words(&f, f.word, e) ? -1 : go(&f, e);
	breaks_fini(&f.rare);
	return r;
}
