/* SPDX-License-Identifier: MIT */
/* cursor_run.c: forwards at full speed: all threads of the process are held by ptrace. */
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/maps.h"
#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "target/stall.h"
#include "timetravel/cursor_int.h"
#include "trace/finish.h"
#include "trace/rep.h"

#define POLL_MS 2
#define STOPS_ASK 256
#define MANY_OF_ALL 50 /* after this many stops in a segment, the segment counts as one with stops */
#define MANY_LATER 16 /* the same if the last stop is wanted, and SEGCUR_MANY were counted before */
/* writes and stops: if segments have few each, it is quicker to walk through the next ones */
#define WRITES_IN_ALL 1200u
/* the signal by which the recorder finds the place where a computation was interrupted */
#define SIG_TICK 64

struct run {
	struct cursor *t;
	pid_t step;
	uint64_t before; /* of the stepped thread: its last instruction */
	bool handler; /* ... and whether a handler began with it */
	struct breaks_words words; /* of what is watched, as they were... */
	uint64_t words_at; /* ... after this event */
	uint64_t written, writes; /* how often words were written without a stop after event `written` */
	uint64_t all_writes; /* in all segments */
	struct shim_call shim_call;
	int held; /* a signal that is held back until the end of its step; 0: none */
	uint32_t notify;
	struct stall stall;
	double next_look; /* at that */
	struct stop *stop;
};

static struct replay_ctl *ctl(const struct cursor *t)
{
	return t->nav->t.ctl;
}

/* Where the stepped thread stands before it goes on. */
static int note_step(struct run *r, struct group_thread *th, struct err *e)
{
	if (th->t.tid != r->step)
		return 0;
	if (trace_get_pc(&th->t, &r->before, e))
		return -1;
	r->handler = th->sig != 0;
	return 0;
}

static bool given_up(void *ctx)
{
	struct cursor *t = ctx;

	return t->interrupted && t->interrupted(t->ctx);
}

/*
 * The stepped thread is about to execute a function of the recorder's that runs long, and in which no state is visible
 * (replay_ctl.search_addr): runs to its return.
 */
static int run_through(struct run *r, struct group_thread *th, struct err *e)
{
	int slot = breaks_free_slot(&r->t->breaks);
	struct trace_stop s;

	if (th->t.tid != r->step || !ctl(r->t)->search_addr || r->before != ctl(r->t)->search_addr || th->sig ||
	    slot < 0)
		return 0;
	if (trace_finish_call(&th->t, (unsigned)slot, given_up, r->t, &s, e))
		return -1;
	if (s.why == TRACE_EXITED)
		return err_set(e, ERR_INTERNAL, "thread %d ended in the recorder", (int)th->t.tid);
	th->sig = s.why == TRACE_SIGNAL ? s.info.si_signo : 0;
	return trace_get_pc(&th->t, &r->before, e);
}

static int go_on(struct run *r, struct group_thread *th, struct err *e)
{
	if (note_step(r, th, e) || run_through(r, th, e))
		return -1;
	return note_step(r, th, e) || group_resume_one(&r->t->group, th, e) ? -1 : 0;
}

void cursor_maybe(struct cursor_last *last, uint64_t event)
{
	if (!last->all && last->k && last->event == event) {
		last->many = true;
		return;
	}
	if (last->maybes && last->maybe[last->maybes - 1] == event)
		return;
	last->maybe = xreallocarray(last->maybe, last->maybes + 1, sizeof(last->maybe[0]));
	last->maybe[last->maybes++] = event;
}

bool cursor_changes_memory(const struct rlog_rec *r)
{
	static const long calls[] = {SYS_mmap,	 SYS_munmap,	       SYS_brk,
				     SYS_mremap, SYS_madvise,	       SYS_shmat,
				     SYS_shmdt,	 SYS_remap_file_pages, SYS_process_madvise};

	if (r->kind == RLOG_PAGE)
		return true;
	for (unsigned i = 0; r->kind == RLOG_SYS && r->nops && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (r->op[0] == (uint64_t)calls[i])
			return true;
	return false;
}

int cursor_remaps(struct cursor *t, uint64_t from, uint64_t to, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int r = 0, found = 0;

	if (from >= to)
		return 0;
	if (timeline_walk_init(&w, t->nav->t.tl, from + 1, e))
		return -1;
	for (uint64_t n = from; n < to && !found && (r = timeline_walk_next(&w, &ev, e)) > 0; n++)
		found = cursor_changes_memory(&ev.ev.rec);
	timeline_walk_fini(&w);
	return r < 0 ? -1 : found;
}

/* Counts the writes in that segment. */
static int note_write_forth(struct run *r, uint64_t event)
{
	if (r->written != event)
		r->writes = 0;
	r->written = event;
	r->all_writes++;
	if (++r->writes == r->t->patience ||
	    (r->t->patience && r->t->patience <= SEGCUR_WRITES && r->all_writes > WRITES_IN_ALL))
		*r->stop = (struct stop){.kind = STOP_HOT};
	return 0;
}

/*
 * A watched word was written, and as far as is known here not changed. A run that counts stops gives up when that
 * happens too often.
 */
static int note_write(struct run *r, uint64_t event, struct err *e)
{
	struct cursor_last *c = r->t->count;
	int remapped = 0;

	if (!c)
		return note_write_forth(r, event);
	if (c->written != event || !c->writes) {
		c->written = event;
		c->writes = 0;
		remapped = cursor_remaps(r->t, r->words_at, event, e);
	}
	if (remapped > 0)
		cursor_maybe(c, event);
	c->all_writes++;
	if (++c->writes > c->patience || c->all_writes > WRITES_IN_ALL)
		*r->stop = (struct stop){.kind = STOP_HOT};
	return remapped < 0 ? -1 : 0;
}

/* If stops are counted: is the segment left to a walk, which knows all that the condition reads? */
static bool is_left_to_walk(const struct run *r)
{
	const struct watch_conditions *c = r->t->breaks.watch_conditions;

	return r->t->count && c && c->walked && c->unknown;
}

/* 1: r->stop is set. */
static int is_watch(struct run *r, struct group_thread *th, const struct trace_stop *s, struct err *e)
{
	struct cursor *t = r->t;
	const struct group_slot *w;
	uint64_t event;
	bool written;

	w = breaks_watch_met(&t->breaks, &th->t, s->slots, &r->words, &written);
	if (!written)
		return 0;
	event = nav_at(t->nav);
	if (w && is_left_to_walk(r)) {
		cursor_maybe(t->count, event);
		*r->stop = (struct stop){.kind = STOP_HOT};
	} else if (w) {
		*r->stop = (struct stop){STOP_WATCH, 0, w->addr, w->kind};
	} else if (note_write(r, event, e)) {
		return -1;
	}
	r->words_at = event;
	return r->stop->kind != 0;
}

/* Is it a fault that is a stop? */
static bool is_fault(struct run *r, const struct trace_stop *s)
{
	if (!trace_is_fault(s) || !breaks_stops_at_signal(&r->t->breaks, s->info.si_signo))
		return false;
	*r->stop = (struct stop){.kind = STOP_SIGNAL, .sig = s->info.si_signo};
	r->t->faults = true;
	return true;
}

/* 1: the stepped thread is at a visible state. */
static int is_stepped(struct run *r, struct group_thread *th, const struct trace_stop *s, struct err *e)
{
	struct user_regs_struct regs;

	if (th->t.tid != r->step || s->why != TRACE_STEPPED)
		return 0;
	if (trace_get_regs(&th->t, &regs, e))
		return -1;
	return shim_frames_sees(&r->t->shim_frames, &r->t->visibility, &r->shim_call, th->t.pid, r->before, &regs,
				r->handler);
}

/*
 * Makes one step. A signal of the recorder's that comes meanwhile waits: otherwise its handler would run instead of the
 * instruction, and the signal would come again and again.
 */
static int step_one(struct group_thread *th, struct trace_stop *s, struct err *e)
{
	int sig = th->sig, held = sig == SIG_TICK ? sig : 0;

	th->sig = 0;
	if (trace_step(&th->t, held ? 0 : sig, s, e))
		return -1;
	if (s->why == TRACE_SIGNAL && s->info.si_signo == SIG_TICK) {
		held = SIG_TICK;
		if (trace_step(&th->t, 0, s, e))
			return -1;
	}
	if (trace_finish_rep(&th->t, s, e))
		return -1;
	if (s->why == TRACE_STEPPED)
		th->sig = held;
	return 0;
}

/* A thread at a breakpoint executes one instruction without it, while the others stay. */
static int step_off(struct run *r, struct group_thread *th, struct err *e)
{
	struct cursor *t = r->t;
	struct trace_stop s;
	uint64_t pc;
	int got;

	if (note_step(r, th, e))
		return -1;
	if (step_one(th, &s, e))
		return -1;
	if (s.why == TRACE_EXITED)
		return 0;
	got = is_watch(r, th, &s, e);
	if (got)
		return got < 0 ? -1 : 0;
	is_fault(r, &s);
	if (s.why == TRACE_SIGNAL)
		th->sig = s.info.si_signo;
	if (r->stop->kind || s.why != TRACE_STEPPED || trace_get_pc(&th->t, &pc, e))
		return r->stop->kind || s.why != TRACE_STEPPED ? 0 : -1;
	if (breaks_has(&t->breaks, pc))
		r->stop->kind = segcur_meets(&t->breaks, &th->t);
	if (!r->stop->kind && is_stepped(r, th, &s, e) > 0)
		r->stop->kind = STOP_STEP;
	return 0;
}

/* If stops are only counted, this one has been. */
static bool is_counted(struct run *r)
{
	struct cursor_last *c = r->t->count;
	uint64_t event = nav_at(r->t->nav);

	if (!c || (r->stop->kind != STOP_BREAK && r->stop->kind != STOP_WATCH && r->stop->kind != STOP_SIGNAL))
		return false;
	c->k = c->k && c->event == event ? c->k + 1 : 1;
	c->met++;
	if (c->all) {
		cursor_maybe(c, event);
		c->many = c->k >= MANY_OF_ALL;
	} else {
		c->many = c->k >= (c->met > SEGCUR_MANY ? MANY_LATER : SEGCUR_MANY) ||
			  (c->maybes && c->maybe[c->maybes - 1] == event);
		c->maybes = 0;
	}
	c->event = event;
	if (c->many)
		return false;
	*r->stop = (struct stop){0};
	if (++c->all_writes > WRITES_IN_ALL)
		r->stop->kind = STOP_HOT;
	return !r->stop->kind;
}

/* Passes a stop that is not to be reported, at a breakpoint or after the write to a watched word, and goes on. */
static int pass(struct run *r, struct group_thread *th, struct err *e)
{
	struct breaks *b = &r->t->breaks;
	uint64_t pc;

	do {
		if (trace_get_pc(&th->t, &pc, e))
			return -1;
		if (!breaks_has(b, pc))
			break;
		if (breaks_lift(b, th->t.pid, pc, true, e) || step_off(r, th, e))
			return -1;
		if (!th->t.alive)
			return 0; /* group_wait reports it */
		if (breaks_lift(b, th->t.pid, pc, false, e))
			return -1;
	} while (is_counted(r));
	if (!r->stop->kind)
		return go_on(r, th, e);
	r->t->tid = th->t.tid;
	return 0;
}

/*
 * Is it a signal of the recorder's before a step in the program? It would not be known when the step is made, and what
 * comes before it.
 */
static bool is_for_later(struct run *r, struct group_thread *th, const struct trace_stop *s)
{
	struct err ignored;
	uint64_t pc;

	if (th->t.tid != r->step || s->why != TRACE_SIGNAL || r->held || s->info.si_signo != SIG_TICK)
		return false;
	if (trace_get_pc(&th->t, &pc, &ignored) || pc != r->before || !visibility_is_certain(&r->t->visibility, pc))
		return false;
	r->held = SIG_TICK;
	return true;
}

/* Handles a stop of one thread: sets r->stop if it is to be reported, else lets the thread go on. */
static int judge(struct run *r, struct group_thread *th, struct trace_stop *s, struct err *e)
{
	int yes = trace_is_int3(s) ? breaks_hit(&r->t->breaks, &th->t, e) : 0, watched;

	if (yes < 0 || trace_finish_rep(&th->t, s, e) || (th->t.tid == r->step && trace_hide_step(&th->t, e)))
		return -1;
	if (is_for_later(r, th, s))
		return go_on(r, th, e);
	if (r->held && th->t.tid == r->step && s->why == TRACE_STEPPED) {
		th->sig = r->held;
		r->held = 0;
	}
	if (yes)
		r->stop->kind = segcur_meets(&r->t->breaks, &th->t);
	if (yes && !r->stop->kind)
		return pass(r, th, e);
	watched = yes ? 0 : is_watch(r, th, s, e);
	if (watched < 0)
		return -1;
	if (yes || watched)
		;
	else if (is_fault(r, s))
		;
	else if ((yes = is_stepped(r, th, s, e)) != 0)
		r->stop->kind = STOP_STEP;
	if (yes < 0)
		return -1;
	if (s->why == TRACE_SIGNAL && !yes)
		th->sig = s->info.si_signo;
	if (is_counted(r))
		return pass(r, th, e);
	if (r->stop->kind) {
		r->t->tid = th->t.tid;
		return 0;
	}
	return go_on(r, th, e);
}

/* The recorder reports a state: the process is where it was told to stop, or cannot go on. */
static int hear(struct run *r, struct err *e)
{
	struct replay_ctl *c = ctl(r->t);
	uint32_t state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);

	if (state == REPLAY_PARKED || state == REPLAY_ENDED) {
		r->stop->kind = c->turn >= c->total ? STOP_END : STOP_LIMIT;
		r->t->tid = target_tid(&r->t->nav->t, c->parked);
	}
	return target_is_lost(&r->t->nav->t, e) ? -1 : 0;
}

/* Nothing has happened for a while. -1: the replay gets no further. */
static int look_for_stall(struct run *r, struct err *e)
{
	struct target *target = &r->t->nav->t;
	struct group_thread *th;
	uint64_t pc = 0;

	if (clock_s() < r->next_look)
		return 0;
	r->next_look = clock_s() + STALL_LOOK_MS / 1000.0;
	if (!stall_look(&r->stall, target))
		return 0;
	if (group_stop(&r->t->group, e))
		return -1;
	if (__atomic_load_n(&ctl(r->t)->notify, __ATOMIC_ACQUIRE) != r->notify)
		return group_resume(&r->t->group, r->step, e);
	th = group_find(&r->t->group, target_tid(target, ctl(r->t)->owner));
	if (th && th->t.alive && trace_get_pc(&th->t, &pc, e))
		return -1;
	stall_explain(&r->stall, target, pc, &target->lost);
	*e = target->lost;
	return -1;
}

static int wait_stop(struct run *r, struct err *e)
{
	struct cursor *t = r->t;
	unsigned stops = 0;

	stall_begin(&r->stall, &t->nav->t);
	while (!r->stop->kind) {
		struct group_thread *th = NULL;
		struct trace_stop s;
		int got = group_wait(&t->group, POLL_MS, &th, &s, e);

		if (got < 0)
			return -1;
		if (got == 1 && judge(r, th, &s, e))
			return -1;
		if (got == 2) {
			r->stop->kind = STOP_END;
			return 0;
		}
		/* a thread that is stopped all the time makes no progress by itself */
		if (got)
			stall_begin(&r->stall, &t->nav->t);
		else if (look_for_stall(r, e))
			return -1;
		/* many stops that are not reported must not keep it from checking */
		if (got && ++stops % STOPS_ASK)
			continue;
		if (__atomic_load_n(&ctl(t)->notify, __ATOMIC_ACQUIRE) != r->notify && hear(r, e))
			return -1;
		if (!r->stop->kind && t->interrupted && t->interrupted(t->ctx)) {
			r->stop->kind = STOP_INTERRUPT;
			t->tid = target_tid(&t->nav->t, ctl(t)->owner);
		}
	}
	return group_stop(&t->group, e);
}

/* Lets the thread go on that stopped here before. */
static int leave_stop(struct run *r, struct err *e)
{
	struct group_thread *th = group_find(&r->t->group, r->t->tid);
	uint64_t pc;

	if (!th || !th->t.alive || th->pending)
		return 0;
	if (trace_get_pc(&th->t, &pc, e))
		return -1;
	return breaks_has(&r->t->breaks, pc) ? step_off(r, th, e) : 0;
}

/* Finds out how the stepped thread got to where it is. */
static int find_shim_call(struct run *r, struct err *e)
{
	struct group_thread *th = group_find(&r->t->group, r->step);
	struct user_regs_struct regs;

	if (!th || !th->t.alive)
		return 0;
	if (trace_get_regs(&th->t, &regs, e))
		return -1;
	shim_frames_find_shim_call(&r->t->shim_frames, &r->t->visibility, th->t.pid, &regs, &r->shim_call);
	return 0;
}

/* May threads run in translated code? Only without watchpoints and stepped threads. */
static bool looks_away(const struct run *r)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (r->t->breaks.watch[i].kind)
			return false;
	return !r->step;
}

static int resume(struct run *r, struct err *e)
{
	struct cursor *t = r->t;
	struct group_thread *th = group_find(&t->group, r->step);

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		t->group.slot[i] = t->breaks.watch[i];
	if (th && th->t.alive && th->sig == SIG_TICK) {
		r->held = SIG_TICK;
		th->sig = 0;
	}
	if (th && th->t.alive && note_step(r, th, e))
		return -1;
	ctl(t)->blind = looks_away(r) ? ++t->runs : 0;
	return breaks_insert(&t->breaks, t->group.pid, e) || group_resume(&t->group, r->step, e) ? -1 : 0;
}

/* A thread that was interrupted in translated code is at no position of the program's. */
static int see_translation(struct run *r, struct err *e)
{
	struct group_thread *th = group_find(&r->t->group, r->t->tid);
	struct user_regs_struct regs;
	struct mapping m;

	if (r->stop->kind != STOP_INTERRUPT || !th || !th->t.alive)
		return 0;
	if (trace_get_regs(&th->t, &regs, e))
		return -1;
	if (!regs.gs_base || !maps_find(th->t.pid, regs.rip, &m) || m.path[0] || !m.write || !m.exec)
		return 0;
	r->t->in_translation = true;
	return 0;
}

static void see_words(struct run *r)
{
	breaks_look(&r->t->breaks, r->t->group.pid, &r->words);
	r->words_at = nav_at(r->t->nav);
}

int cursor_run(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	struct run r = {.t = t, .step = step, .stop = stop};
	struct err why;
	int got;

	*stop = (struct stop){0};
	t->in_translation = false;
	if (ctl(t)->turn >= nav_total(t->nav) && ctl(t)->state != REPLAY_RUNNING) {
		stop->kind = STOP_END;
		return 0;
	}
	if (ctl(t)->turn >= until) {
		stop->kind = STOP_LIMIT;
		return 0;
	}
	r.notify = __atomic_load_n(&ctl(t)->notify, __ATOMIC_ACQUIRE);
	see_words(&r);
	if (find_shim_call(&r, e) || leave_stop(&r, e))
		return -1;
	if (stop->kind)
		return 0;
	/* before the threads are resumed: one may be past that event right after that */
	target_release(&t->nav->t, until);
	got = resume(&r, e) || wait_stop(&r, e) ? -1 : 0;
	if (t->group.pid && group_stop(&t->group, got ? &why : e))
		got = -1;
	if (t->group.n && breaks_take_out(&t->breaks, t->group.pid, got ? &why : e))
		got = -1;
	ctl(t)->blind = 0;
	return got ? got : see_translation(&r, e);
}
