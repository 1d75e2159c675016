/* SPDX-License-Identifier: MIT */
/*
 * segcursor_report.c: see segcursor_report.h. The copy runs as it is up to where the recorder returns to the program,
 * and from there in translated code (trace/walk.h). What is not translated (a system call in the program's code, a
 * trap) the processor executes; after it the copy goes on in translated code.
 */
#include "segcursor/segcursor_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "record/dispatch/sys_nr.h"
#include "rlog/report.h"
#include "segcursor/segcursor_int.h"
#include "trace/blocked.h"
#include "visibility/shim_frames.h"

#define FULL (512u << 10) /* bytes of the report, at which it is read: few enough to stay in the processor's cache */
#define KEEP_FREE (1u << 20) /* and besides, for entries that are made between two checks of whether it is full */
#define ROOM (FULL + KEEP_FREE)
#define SYSCALL_BYTES 2
/* A copy that has used this many times the CPU time that the way to an interruption takes natively, and some more, has
 * gone past it. */
#define ASLEEP_MAX 4
#define PAST_TIMES 100
#define PAST_NS 1000000000u
#define SLOWER_TIMES 300 /* translated code that reports, at most */
#define SLOWER_NS 300000000u

struct reporting {
	struct segcur_report *r;
	struct segcur *in;
	uint64_t at; /* the report in the copy */
	struct goal *goal; /* where an interruption ends the segment; NULL: it ends at an event */
	pid_t pid; /* of the copy */
	struct trace *copy;
	struct trace_walk walk;
	unsigned asleep; /* consecutive checks at which it waited for another thread, which the copy lacks */
	uint64_t most_ns; /* of CPU time; after that it has gone past its end, or waits in a loop for another thread */
	bool past; /* it has taken more than that */
};

enum reached { GOES_ON = 0, AT_END = 1, NOT_FOUND = 2 };

/*
 * Does the copy wait for another thread? In pthread_once, after the routine: in a replay the turn is donated to the
 * thread that is in it, to come out. Called about as often as slices end.
 */
static bool waits_in_vain(void *ctx)
{
	struct reporting *g = ctx;
	struct user_regs_struct r;
	struct err ignored;
	uint64_t futex;

	if (g->r->ops->cancelled && g->r->ops->cancelled(g->r->ctx))
		return true;
	/* at its beginning it stands in a wait */
	if (!g->pid || !g->copy->alive || trace_get_regs(g->copy, &r, &ignored) ||
	    blocked_in(&r, &futex) != BLOCKED_UNTIL_WOKEN)
		g->asleep = 0;
	else
		g->asleep++;
	return g->asleep >= ASLEEP_MAX;
}

static int map_report(struct reporting *g, struct trace *t, struct err *e)
{
	/* at this address it is ignored by comparisons of states, and in no mapping's way */
	const uint64_t args[6] = {
		REPLAY_REPORT_ADDR,	ROOM,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		(uint64_t)-1,		0};
	uint64_t word = g->in->seg.t->ctl->report_addr;
	struct replay_report head;
	int64_t ret;

	if (trace_syscall(t, g->in->seg.gadget, SYS_mmap, args, &ret, e))
		return -1;
	if (ret < 0 && ret > -4096)
		return err_set(e, ERR_HOST, "no memory in the copy %d", (int)t->pid);
	g->at = (uint64_t)ret;
	head = (struct replay_report){.cur = g->at + sizeof(head),
				      .full = g->at + FULL,
				      .end = g->at + ROOM,
				      .every = g->r->every,
				      .args = g->r->args,
				      .loaded_lo = g->r->loaded ? g->in->visibility.libc.lo : 0,
				      .loaded_hi = g->r->loaded ? g->in->visibility.libc.hi : 0};
	return trace_write(t->pid, g->at, &head, sizeof(head), e) || trace_write(t->pid, word, &g->at, sizeof(g->at), e)
		       ? -1
		       : 0;
}

/* Takes the entries out. */
static int drain(struct reporting *g, struct trace *t, struct err *e)
{
	struct replay_report head;
	uint64_t first = g->at + sizeof(head);
	uint64_t *v;
	size_t bytes;
	int r;

	if (trace_read(t->pid, g->at, &head, sizeof(head), e))
		return -1;
	bytes = head.cur - first;
	if (bytes > ROOM)
		return err_set(e, ERR_INTERNAL, "the copy %d has damaged its report", (int)t->pid);
	g->r->lost += head.lost;
	v = xmalloc(bytes + 1);
	r = trace_read(t->pid, first, v, bytes, e) || g->r->ops->entries(g->r->ctx, v, bytes / sizeof(*v), t, e) ? -1
														 : 0;
	free(v);
	head.cur = first;
	head.lost = 0;
	return r ? -1 : trace_write(t->pid, g->at, &head, sizeof(head), e);
}

/* ---- in the recorder, and what is not translated ---- */

/* Runs natively to `to`, or to the place where the recorder calls a handler of the program's. */
static int run_once(struct reporting *g, struct trace *t, uint64_t to, struct stop *stop, struct err *e)
{
	struct segcur *in = g->in;
	struct breaks b = {0};
	int sig = 0, r;

	breaks_add(&b, to, 0);
	if (in->visibility.handlers)
		breaks_add(&b, in->visibility.handlers, 0);
	r = segcur_run_copy(in, t, &sig, &b, NULL, stop, e);
	breaks_fini(&b);
	return r;
}

/* The recorder may also call the function that contains `to`; the stack pointer is then another one. */
static int run_to(struct reporting *g, struct trace *t, const struct user_regs_struct *to, struct stop *stop,
		  struct err *e)
{
	struct user_regs_struct r;
	struct trace_stop s;

	for (;;) {
		if (run_once(g, t, to->rip, stop, e))
			return -1;
		if (stop->kind != STOP_BREAK)
			return 0;
		if (trace_get_regs(t, &r, e))
			return -1;
		if (r.rip != to->rip || r.rsp == to->rsp)
			return 0;
		if (trace_step(t, 0, &s, e))
			return -1;
	}
}

static int step_out(struct reporting *g, struct trace *t, struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct shim_call call;
	int sig = 0;

	if (trace_get_regs(t, &r, e))
		return -1;
	shim_frames_find_shim_call(g->in->shim_frames, &g->in->visibility, t->pid, &r, &call);
	return segcur_step_seeing(g->in, t, NULL, call, &sig, stop, e);
}

/* The event of a pthread_once itself ends the segment: no code of the program comes before it. */
static bool is_in_once(const struct reporting *g)
{
	struct timeline_event ev;
	struct err ignored;

	return !timeline_read(g->in->seg.t->tl, g->in->n + 1, &ev, &ignored) && ev.ev.rec.kind == RLOG_ONCE;
}

/* Classifies the place where the copy stands: the end of the segment, or a state of the program. */
static int settle(struct reporting *g, struct trace *t, const struct stop *stop, struct err *e)
{
	struct trace_stop s;
	uint64_t pc;

	if (stop->kind == STOP_OVER)
		return AT_END;
	if (trace_get_pc(t, &pc, e))
		return -1;
	if (visibility_is_call_of_handler(&g->in->visibility, pc))
		return trace_step(t, 0, &s, e) ? -1 : GOES_ON;
	if (stop->kind == STOP_INTERRUPT)
		return g->asleep >= ASLEEP_MAX && is_in_once(g) ? AT_END : NOT_FOUND;
	return stop->kind == STOP_SIGNAL ? NOT_FOUND : GOES_ON;
}

/*
 * System calls that a replay does not execute, but takes from the log: they change neither mappings nor threads nor how
 * signals are handled. Of those with a function of their own, the three that programs make most often do not, either.
 */
static bool is_from_log(uint64_t nr)
{
	static const bool from_log[] = {
#define CLASS_REC true
#define CLASS_QUICK true
#define CLASS_MEM false
#define CLASS_RAW false
#define CLASS_NOSYS false
#define CLASS_FN(f) false
#define CLASS_PAIR(f, g) false
#define SC(name, nargs, how, reads, writes) [__NR_##name] = CLASS_##how,
#include "record/dispatch/syscalls.def"
#undef SC
#undef CLASS_PAIR
#undef CLASS_FN
#undef CLASS_NOSYS
#undef CLASS_RAW
#undef CLASS_MEM
#undef CLASS_QUICK
#undef CLASS_REC
	};

	return nr == SYS_openat || nr == SYS_fcntl || nr == SYS_futex ||
	       (nr < sizeof(from_log) / sizeof(from_log[0]) && from_log[nr]);
}

static bool is_syscall(struct trace *t, uint64_t pc)
{
	struct err ignored;
	uint8_t b[SYSCALL_BYTES];

	return !trace_read(t->pid, pc, b, sizeof(b), &ignored) && b[0] == 0x0f && b[1] == 0x05;
}

/*
 * Has the recorder begun something in which it calls a function of the program? (That of a thread is called by libc's
 * code, to which no call returns.)
 */
static bool calls_program(const struct reporting *g)
{
	return g->r->last[g->in->seg.thread] == RLOG_ONCE_RUN || g->r->last[g->in->seg.thread] == RLOG_START;
}

/* What the thread did at the segment's end. */
static void note_event(struct segcur_report *r, struct target *t, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	if (!timeline_read(t->tl, n, &ev, &ignored) && ev.where.thread < RLOG_MAX_THREADS)
		r->last[ev.where.thread] = (uint8_t)ev.ev.rec.kind;
}

/*
 * *r: where the recorder returns to. false: not known, or it calls a function of the program before it returns. Of a
 * function of libc that the recorder has called, such as dlopen, it is the recorder's caller: library constructors are
 * not told.
 */
static bool returns_to_program(struct reporting *g, struct trace *t, struct user_regs_struct *r)
{
	const struct visibility *v = &g->in->visibility;
	struct shim_frames *o = g->in->shim_frames;
	struct user_regs_struct here = *r;

	if (calls_program(g))
		return false;
	if (shim_frames_caller(o, v, t->pid, r) &&
	    (visibility_is_certain(v, r->rip) ||
	     (is_syscall(t, r->rip - SYSCALL_BYTES) && !shim_frames_hides(o, v, t->pid, r))))
		return true;
	*r = here;
	return shim_frames_of_call(o, v, t->pid, r) && visibility_is_shim(v, r->rip) &&
	       shim_frames_caller(o, v, t->pid, r) && visibility_is_certain(v, r->rip);
}

/* From inside the recorder to the program's code. */
static int come_out(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop = {0};

	if (trace_get_regs(t, &r, e))
		return -1;
	if (visibility_is_certain(&g->in->visibility, r.rip))
		return GOES_ON;
	if (returns_to_program(g, t, &r)) {
		if (run_to(g, t, &r, &stop, e))
			return -1;
	} else if (step_out(g, t, &stop, e)) {
		return -1;
	}
	return settle(g, t, &stop, e);
}

/* The walk has ended: the processor executes the instruction that stands here. */
static int step_over(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop = {0};
	bool call;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (visibility_is_shim(&g->in->visibility, r.rip))
		return come_out(g, t, e);
	g->r->stepped++;
	call = is_syscall(t, r.rip);
	r.rip += SYSCALL_BYTES;
	if (call ? run_to(g, t, &r, &stop, e) : step_out(g, t, &stop, e))
		return -1;
	return settle(g, t, &stop, e);
}

/* ---- in translated code ---- */

static int is_goal(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e)
{
	struct reporting *g = ctx;

	return segcur_is_goal_tell(g->goal, t, tell, e);
}

static int ended(void *ctx, struct trace *t, bool *over, struct err *e)
{
	struct reporting *g = ctx;

	return segment_is_over(&g->in->seg, t->pid, over, e);
}

static bool cancelled(void *ctx)
{
	struct reporting *g = ctx;
	struct err ignored;
	uint64_t ns;

	g->past = !trace_cpu_ns(g->pid, &ns, &ignored) && ns > g->most_ns;
	return g->past || (g->r->ops->cancelled && g->r->ops->cancelled(g->r->ctx));
}

static int full(void *ctx, struct trace *t, struct err *e)
{
	return cancelled(ctx) ? err_set(e, ERR_CANCELLED, "interrupted") : drain(ctx, t, e);
}

/* Without an end that is known: by the time that the whole recording took. */
static uint64_t most_ns(const struct reporting *g)
{
	const struct target *t = g->in->seg.t;
	struct timeline_event last;
	struct err ignored;

	if (g->goal)
		return g->in->end_ns * PAST_TIMES + PAST_NS;
	if (g->r->most_ns)
		return g->r->most_ns;
	if (timeline_read(t->tl, target_total(t), &last, &ignored))
		return UINT64_MAX;
	return g->r->most_ns = (uint64_t)(last.seconds * 1e9) * SLOWER_TIMES + SLOWER_NS;
}

static int prepare_walk(struct reporting *g, struct err *e)
{
	static const struct trace_walk_ops ops = {
		.is_goal = is_goal, .full = full, .ended = ended, .cancelled = cancelled};
	struct user_regs_struct r;

	g->walk = (struct trace_walk){
		.enter = g->in->seg.t->ctl->walk_addr,
		.gadget = g->in->seg.gadget,
		.end_watch = SEGMENT_TURN_ADDR,
		.ops = &ops,
		.ctx = g,
		.ask = {.report = g->at},
		.stays = true,
	};
	g->most_ns = most_ns(g);
	if (!g->goal)
		return 0;
	if (trace_get_regs(g->goal->want, &r, e))
		return -1;
	g->walk.ask.goal = g->goal->pc;
	trace_walk_want(&g->walk, &r);
	return 0;
}

static int walk(struct reporting *g, struct trace *t, struct err *e)
{
	return trace_clear_all(t, e) ? -1 : trace_walk_go(&g->walk, t, e);
}

/* A fault in translated code: the program's own. Such a segment is the last one, or a handler follows. */
static int gave_up(struct reporting *g, struct trace *t)
{
	if (t->alive && g->in->n + 1 == target_total(g->in->seg.t)) {
		g->r->broken++;
		return AT_END;
	}
	return NOT_FOUND;
}

static int go_on(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (g->r->ops->returned)
		g->r->ops->returned(g->r->ctx, r.rsp);
	switch (walk(g, t, e)) {
	case WALK_THERE:
	case WALK_OVER:
		return AT_END;
	case WALK_LEFT:
		return drain(g, t, e) ? -1 : step_over(g, t, e);
	case WALK_CANNOT:
		return gave_up(g, t);
	default:
		return g->past && e->kind == ERR_CANCELLED ? NOT_FOUND : -1;
	}
}

/* Entries of the rest are read once more, whatever ended it. */
static int go_through(struct reporting *g, struct trace *t, struct err *e)
{
	int r;

	g->pid = t->pid;
	r = come_out(g, t, e);
	while (r == GOES_ON)
		r = go_on(g, t, e);
	if (r < 0)
		return -1;
	g->r->unseen += r == NOT_FOUND;
	return t->alive ? drain(g, t, e) : 0;
}

/* For a segment that ends in the middle of the program: the goal is the state of a copy that has found this end. */
static int find_end(struct reporting *g, struct goal *goal, struct err *e)
{
	struct segcur *in = g->in;

	if (!in->interrupted_at_end)
		return 0;
	if (segcur_find_end(in, e) || segcur_goal_init(goal, &in->end, e))
		return -1;
	g->goal = goal;
	return 0;
}

/* Events after which the thread simply returns from the recorder's function to its caller. */
static bool goes_on(const struct reader_event *ev)
{
	switch (ev->rec.kind) {
	case RLOG_LOCK:
	case RLOG_LOCK_RET:
	case RLOG_UNLOCK:
	case RLOG_COND_SIGNAL:
	case RLOG_COND_BROADCAST:
	case RLOG_RDLOCK:
	case RLOG_WRLOCK:
	case RLOG_RWUNLOCK:
	case RLOG_SEM_WAIT:
	case RLOG_SEM_POST:
	case RLOG_SEM_GET:
	case RLOG_SPIN_LOCK:
	case RLOG_SPIN_UNLOCK:
	case RLOG_LIB_LOCK:
	case RLOG_LIB_UNLOCK:
	case RLOG_OBJ_DESTROY:
	case RLOG_DETACH:
	case RLOG_YIELD:
		return true;
	case RLOG_SYS:
		return ev->has_result && ev->rec.nops && is_from_log(ev->rec.op[0]);
	default:
		return false;
	}
}

/* Can a copy that is under way come to an event of this kind? At others, a copy must begin. */
static bool can_come_to(unsigned kind)
{
	switch (kind) {
	case RLOG_SIGNAL:
	case RLOG_PREEMPT:
	case RLOG_PAGE:
	case RLOG_CREATE:
	case RLOG_FORK:
	case RLOG_EXEC:
	case RLOG_CALL:
	case RLOG_CRASH:
	case RLOG_ONCE_RUN:
		return false;
	default:
		return true;
	}
}

int segcur_report_reach(const struct target *t, uint64_t n, uint64_t most, uint64_t *to, struct err *e)
{
	struct timeline_event ev, before;
	struct timeline_walk w;
	uint64_t last = n;
	int r = 0;

	*to = n + 1;
	if (t->ctl->report_kinds <= REPORT_EVENT)
		return 0;
	if (timeline_walk_init(&w, t->tl, n + 1, e))
		return -1;
	while (last < most && (r = timeline_walk_next(&w, &ev, e)) > 0) {
		if (last > n && (ev.where.thread != before.where.thread || ev.where.process != before.where.process ||
				 !can_come_to(ev.ev.rec.kind)))
			break;
		last++;
		before = ev;
		if (!goes_on(&ev.ev) || !can_come_to(ev.ev.rec.kind))
			break;
	}
	timeline_walk_fini(&w);
	if (last > n)
		*to = last;
	return r < 0 ? -1 : 0;
}

static int enter(struct reporting *g, struct target *t, uint64_t n, uint64_t to, struct err *e)
{
	struct segcur *in = g->in;

	uint64_t turn = to;

	if (segment_begin(&in->seg, t, n, e) || visibility_find(t->pid, &in->visibility, e) ||
	    trace_fork(&in->seg.held, in->seg.gadget, &in->base, e) ||
	    trace_unshare_memory(&in->base, in->seg.gadget, e) || segcur_learn_end(in, e) ||
	    trace_write(in->base.pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, stop_at), &turn, sizeof(turn), e))
		return -1;
	/* the segment ends at the last event */
	in->seg.n = in->n;
	return g->r->ops->begun ? g->r->ops->begun(g->r->ctx, in, &in->base, e) : 0;
}

int segcur_report_segments(struct segcur_report *r, struct target *t, uint64_t n, uint64_t to, struct shim_frames *o,
			   struct err *e)
{
	struct segcur in = {.n = to - 1, .shim_frames = o};
	struct reporting g = {.r = r, .in = &in, .copy = &in.base};
	struct goal goal = {0};
	struct err why;
	int got;

	in.interrupted = waits_in_vain;
	in.ctx = &g;
	if (!t->ctl->walk_addr || !t->ctl->report_addr)
		return err_set(e, ERR_USAGE,
			       "this recording was made by an older recorder, or with --malloc system: its heap and "
			       "its accesses cannot be examined");
	got = enter(&g, t, n, to, e) || find_end(&g, &goal, e) || map_report(&g, &in.base, e) || prepare_walk(&g, e) ||
			      go_through(&g, &in.base, e)
		      ? -1
		      : 0;
	breaks_fini(&goal.stop);
	note_event(r, t, to);
	return segcur_leave(&in, got ? &why : e) ? -1 : got;
}
