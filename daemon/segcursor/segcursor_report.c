/* SPDX-License-Identifier: MIT */
/*
 * segcursor_report.c: see segcursor_report.h. The copy runs natively until the recorder returns to the program, and
 * from there in translated code (trace/walk.h). Instructions that are not translated (a system call in the program's
 * code, a trap) are executed by the processor (segcursor_native.c); then the copy continues in translated code.
 */
#include "segcursor/segcursor_report.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "rlog/report.h"
#include "segcursor/segcursor_int.h"
#include "segcursor/segcursor_native.h"
#include "segcursor/segcursor_report_map.h"
#include "trace/blocked.h"

/*
 * A copy that has used this many times the CPU time that the way to an interruption takes natively, and some more, has
 * gone past it.
 */
#define PAST_TIMES 100
#define PAST_NS 1000000000u
#define SLOWER_TIMES 300 /* how much slower translated code that reports is, at most */
#define SLOWER_NS 300000000u

/*
 * Does the copy wait for another thread? In pthread_once, after the routine: in a replay the turn is given to the
 * thread that is in it, so that it can leave. Called about as often as slices end.
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

/* Takes the entries out, so that the copy can continue. */
static int take(struct reporting *g, struct trace *t, struct err *e)
{
	struct replay_report head;
	uint64_t first = g->at + sizeof(head);
	size_t bytes;

	if (trace_read(t->pid, g->at, &head, sizeof(head), e))
		return -1;
	bytes = head.cur - first;
	if (bytes > SEGCUR_REPORT_ROOM)
		return err_set(e, ERR_INTERNAL, "the copy %d has damaged its report", (int)t->pid);
	g->r->lost += head.lost;
	g->r->accesses += g->onlys ? 0 : head.accesses;
	if (bytes > g->room) {
		g->room = bytes;
		g->v = xreallocarray(g->v, g->room, 1);
	}
	if (trace_read(t->pid, first, g->v, bytes, e))
		return -1;
	g->n = bytes / sizeof(*g->v);
	if (g->r->filter == REPORT_NEW &&
	    segcur_known_sort(&g->r->known, t, g->r->sorted, g->r->ops->sort, g->r->ctx, e))
		return -1;
	head.cur = first;
	head.called = 0;
	head.lost = 0;
	head.accesses = 0;
	return trace_write(t->pid, g->at, &head, sizeof(head), e);
}

/* The first word of the last entry; 0: none. */
static uint64_t last_of(const struct reporting *g)
{
	static const uint8_t words[] = {
#define X(name, n) n,
		REPORT_KINDS(X)
#undef X
	};
	uint64_t last = 0;

	for (size_t k = 0; k < g->n && g->v[k] >> REPORT_KIND_SHIFT < REPORT_KIND_COUNT;
	     k += words[g->v[k] >> REPORT_KIND_SHIFT])
		last = g->v[k];
	return last;
}

/* Passes on what was taken out. */
static void tell(struct reporting *g)
{
	size_t n = g->n;

	g->n = 0;
	if (n && !g->failed)
		g->failed = g->r->ops->entries(g->r->ctx, g->v, n, g->copy, &g->why) != 0;
}

static int told(struct reporting *g, struct err *e)
{
	tell(g);
	if (g->failed)
		*e = g->why;
	return g->failed ? -1 : 0;
}

/* Takes the entries out and passes them on. */
static int drain(struct reporting *g, struct trace *t, struct err *e)
{
	return told(g, e) || take(g, t, e) || told(g, e) ? -1 : 0;
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

/* Accesses that the filter leaves out are counted, but do not fill the report. */
static bool has_made_enough(const struct reporting *g)
{
	struct err ignored;
	uint64_t n;

	return g->r->most && !g->onlys &&
	       !trace_read(g->pid, g->at + offsetof(struct replay_report, accesses), &n, sizeof(n), &ignored) &&
	       n > g->r->most;
}

static bool cancelled(void *ctx)
{
	struct reporting *g = ctx;
	struct err ignored;
	uint64_t ns;

	g->past = (!trace_cpu_ns(g->pid, &ns, &ignored) && ns > g->most_ns) || has_made_enough(g);
	return g->past || (g->r->ops->cancelled && g->r->ops->cancelled(g->r->ctx));
}

/* Copies are bound to the worker's core, as the process is. */
static void spread(struct reporting *g, struct trace *t)
{
	const struct target *of = g->in->seg.t;

	if (!g->spread && of->cpu >= 0)
		sched_setaffinity(t->tid, sizeof(of->cpus), &of->cpus);
	g->spread = true;
}

static void meanwhile(void *ctx)
{
	tell(ctx);
}

/*
 * The copy continues at once, and what it has reported is passed on while it runs: on another core, if there is one.
 * But not if each instruction is reported: then a consumer also looks at strings in the copy's memory.
 */
static int full(void *ctx, struct trace *t, struct err *e)
{
	struct reporting *g = ctx;

	if (cancelled(ctx))
		return err_set(e, ERR_CANCELLED, "interrupted");
	if (g->r->every)
		return drain(g, t, e);
	spread(g, t);
	return told(g, e) || take(g, t, e) ? -1 : 0;
}

/* The limit if the end is not known: from the time that the whole recording took. */
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

/*
 * The instruction that has faulted in the translated code at pc: that of the last mark before pc. Code that is not a
 * plain copy (a branch by memory) makes its access some bytes later.
 */
#define BRANCH_BYTES 64u
static int marked(struct reporting *g, struct trace *t, uint64_t pc, uint64_t *at, struct err *e)
{
	struct {
		uint64_t code, pc;
	} * v, best = {0};
	uint32_t n;
	int r = -1;

	if (trace_read(t->pid, g->walk.ask.nmarks_at, &n, sizeof(n), e))
		return -1;
	if (n > REPLAY_WALK_MARKS)
		return err_set(e, ERR_INTERNAL, "the copy %d has damaged its translated code", (int)t->pid);
	v = xcalloc(n + 1ul, sizeof(*v));
	if (!trace_read(t->pid, g->walk.ask.marks_at, v, n * sizeof(*v), e)) {
		for (uint32_t k = 0; k < n; k++)
			if (v[k].code <= pc && v[k].code >= best.code) {
				best.code = v[k].code;
				best.pc = v[k].pc;
			}
		r = best.code && pc - best.code < BRANCH_BYTES;
		*at = best.pc;
	}
	free(v);
	return r;
}

/* Is that in a function of libc that translated code has called, since the shadow said that nothing is to be told? */
static bool is_in_checked(const struct reporting *g, struct trace *t, uint64_t pc)
{
	const struct text *libc = &g->in->visibility.libc;
	struct {
		uint64_t sp, ret, libc;
	} call;
	struct err ignored;

	return g->in->seg.t->ctl->report_kinds > REPORT_CHECKED && pc >= libc->lo && pc < libc->hi &&
	       g->walk.ask.native_at && !trace_read(t->pid, g->walk.ask.native_at, &call, sizeof(call), &ignored) &&
	       call.libc;
}

#define SAME_BYTES 2u

/*
 * The entry in front of the instruction that faults is the last one. Its copy begins with the same bytes; else one of
 * the instructions that write entries has faulted, or one of the recorder's. In code that is not translated, it
 * is the instruction that stands there.
 */
static int fault(void *ctx, struct trace *t, uint64_t pc, uint64_t *at, struct err *e)
{
	struct reporting *g = ctx;
	uint8_t is[SAME_BYTES], was[SAME_BYTES];
	uint64_t last;
	struct err ignored;

	if (program_code_is_forbidden(&g->code, t, pc)) {
		*at = pc;
		g->called = true;
		return 1;
	}
	if (is_in_checked(g, t, pc)) {
		*at = pc;
		g->faulted = true;
		return 1;
	}
	if (visibility_is_shim(&g->in->visibility, pc) || told(g, e))
		return visibility_is_shim(&g->in->visibility, pc) ? 0 : -1;
	if (take(g, t, e))
		return -1;
	if (g->r->filter && g->walk.ask.marks_at) {
		int r = marked(g, t, pc, at, e);

		g->faulted = r > 0;
		return r;
	}
	last = last_of(g);
	*at = last & REPORT_PC_MASK;
	if (last >> REPORT_KIND_SHIFT != REPORT_ACCESS || trace_read(t->pid, pc, is, sizeof(is), &ignored) ||
	    trace_read(t->pid, *at, was, sizeof(was), &ignored) || memcmp(is, was, sizeof(is)))
		return 0;
	g->faulted = true;
	return 1;
}

/*
 * The word that is written at the end of the segment. A thread that ends does not set the state: the next thread would
 * do that, which the copy lacks.
 */
static uint64_t end_watch(const struct reporting *g)
{
	struct timeline_event last;
	struct err ignored;

	return timeline_read(g->in->seg.t->tl, g->in->n + 1, &last, &ignored) || last.ev.rec.kind == RLOG_EXIT
		       ? SEGMENT_TURN_ADDR
		       : SEGMENT_STATE_ADDR;
}

static int prepare_walk(struct reporting *g, struct err *e)
{
	static const struct trace_walk_ops ops = {.is_goal = is_goal,
						  .full = full,
						  .meanwhile = meanwhile,
						  .fault = fault,
						  .ended = ended,
						  .cancelled = cancelled};
	struct user_regs_struct r;

	g->walk = (struct trace_walk){
		.enter = g->in->seg.t->ctl->walk_addr,
		.gadget = g->in->seg.gadget,
		.end_watch = end_watch(g),
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

/* A fault in translated code is the program's own if the program was ended by one here. */
static int gave_up(struct reporting *g, struct trace *t)
{
	struct timeline_event ev;
	struct err ignored;

	if (t->alive && g->in->n + 1 == target_total(g->in->seg.t) &&
	    !timeline_read(g->in->seg.t->tl, g->in->n + 1, &ev, &ignored) && ev.ev.rec.kind == RLOG_CRASH) {
		g->r->broken++;
		return AT_END;
	}
	return NOT_FOUND;
}

#define STACK_ALIGN 16u
/*
 * Is it at the beginning of a function of the program that was called by code that is not translated? By the ABI, the
 * stack is aligned at a call, so a function begins 8 bytes below that; after a return it is aligned again.
 */
static bool is_called_back(const struct reporting *g, const struct trace *t, const struct user_regs_struct *r)
{
	const struct visibility *v = &g->in->visibility;
	struct err ignored;
	uint64_t from;

	return visibility_is_certain(v, r->rip) && r->rsp % STACK_ALIGN == sizeof(from) &&
	       !trace_read(t->pid, r->rsp, &from, sizeof(from), &ignored) && !visibility_is_certain(v, from);
}

static int go_on(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	/* what the recorder has reported until now belongs to the call that returns here */
	if (trace_get_regs(t, &r, e) || (!g->begun && segcur_native_begin(g, t, e)) || drain(g, t, e))
		return -1;
	if (g->r->ops->returned)
		g->r->ops->returned(g->r->ctx, r.rsp);
	if (g->r->ops->calls_back && is_called_back(g, t, &r))
		g->r->ops->calls_back(g->r->ctx);
	switch (walk(g, t, e)) {
	case WALK_THERE:
	case WALK_OVER:
		return AT_END;
	case WALK_LEFT:
		if (drain(g, t, e))
			return -1;
		if (g->called) {
			g->called = false;
			return GOES_ON;
		}
		return g->faulted ? segcur_native_step(g, t, e) : segcur_native_step_over(g, t, e);
	case WALK_CANNOT:
		return gave_up(g, t);
	default:
		return g->past && e->kind == ERR_CANCELLED ? NOT_FOUND : -1;
	}
}

/* Has the copy done something else than the recording? Then it stands in the recorder, as at the segment's end. */
static bool has_diverged(const struct trace *t)
{
	struct err ignored;
	uint32_t state;

	return t->alive && !trace_read(t->pid, SEGMENT_STATE_ADDR, &state, sizeof(state), &ignored) &&
	       (state == REPLAY_DIVERGED || state == REPLAY_FAILED);
}

/*
 * In a replay, a process ends only by the end of its thread: if the copy has ended in another way, this was not where
 * the process ended.
 */
static bool has_died(const struct reporting *g, const struct trace *t)
{
	struct timeline_event ev;
	struct err ignored;

	return !t->alive &&
	       (timeline_read(g->in->seg.t->tl, g->in->n + 1, &ev, &ignored) || ev.ev.rec.kind != RLOG_EXIT);
}

/* The rest of the entries is read once more, whatever has ended it. */
static int go_through(struct reporting *g, struct trace *t, struct err *e)
{
	int r;

	g->pid = t->pid;
	r = segcur_native_come_out(g, t, e);
	while (r == GOES_ON)
		r = go_on(g, t, e);
	if (r < 0)
		return -1;
	g->r->unseen += r == NOT_FOUND || has_diverged(t) || has_died(g, t) || g->code.allowed;
	return t->alive ? drain(g, t, e) : told(g, e);
}

/* For a segment that ends in the middle of the program: the goal is the state of a copy that has found that end. */
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

/* The segment ends with event `to`. */
static int fork_copy(struct segcur *in, uint64_t to, struct err *e)
{
	return trace_fork(&in->seg.held, in->seg.gadget, &in->base, e) ||
	       trace_unshare_memory(&in->base, in->seg.gadget, e) ||
	       trace_write(in->base.pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, stop_at), &to, sizeof(to), e);
}

static int enter(struct reporting *g, struct target *t, uint64_t n, uint64_t to, struct err *e)
{
	struct segcur *in = g->in;

	if (segment_begin(&in->seg, t, n, e) || program_code_find(&g->code, t->pid, &in->visibility, e) ||
	    fork_copy(in, to, e) || segcur_learn_end(in, e))
		return -1;
	/* the segment ends at the last event */
	in->seg.n = in->n;
	return g->r->ops->begun ? g->r->ops->begun(g->r->ctx, in, &in->base, e) : 0;
}

static int pass(struct reporting *g, struct err *e)
{
	struct trace *t = &g->in->base;

	return segcur_report_map(g, t, e) || program_code_forbid(&g->code, t, g->in->seg.gadget, false, e) ||
			       prepare_walk(g, e) || go_through(g, t, e)
		       ? -1
		       : 0;
}

/* Runs another copy, if the consumer wants the accesses of some instructions. */
static int once_more(struct reporting *g, uint64_t to, struct err *e)
{
	struct segcur_report *r = g->r;
	uint64_t unseen = r->unseen, stepped = r->stepped, broken = r->broken, lost = r->lost;
	struct reporting m = {.r = r, .in = g->in, .from = g->from, .copy = &g->in->base, .goal = g->goal};
	int got;

	m.code = g->code;
	/* nothing is forbidden in the new copy yet */
	for (size_t k = 0; k < m.code.n; k++)
		m.code.v[k].forbidden = false;
	m.onlys = r->ops->again ? r->ops->again(r->ctx, m.only) : 0;
	if (!m.onlys)
		return 0;
	trace_kill(&g->in->base);
	g->in->ctx = &m;
	got = fork_copy(g->in, to, e) || pass(&m, e) ? -1 : 0;
	g->code = m.code;
	g->in->ctx = g;
	free(m.v);
	r->unseen = unseen;
	r->stepped = stepped;
	r->broken = broken;
	r->lost = lost;
	return got;
}

/* Also answers requests that the consumer makes while it gets entries, even if it then has enough, which ends them. */
static int passes(struct reporting *g, uint64_t to, struct err *e)
{
	struct err other;
	int got = pass(g, e);

	return once_more(g, to, got ? &other : e) ? -1 : got;
}

/* What the thread did at the segment's end. */
static void note_event(struct segcur_report *r, struct target *t, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	if (timeline_read(t->tl, n, &ev, &ignored) || ev.where.thread >= RLOG_MAX_THREADS)
		return;
	r->last[ev.where.thread] = (uint8_t)ev.ev.rec.kind;
	r->seconds[ev.where.thread] = ev.seconds;
}

int segcur_report_segments(struct segcur_report *r, struct target *t, uint64_t n, uint64_t to, struct shim_frames *o,
			   struct err *e)
{
	struct segcur in = {.n = to - 1, .shim_frames = o};
	struct reporting g = {
		.r = r, .in = &in, .from = n, .copy = &in.base, .brief = segcur_report_is_brief(r, t, n, to)};
	struct goal goal = {0};
	struct err why;
	int got;

	in.interrupted = waits_in_vain;
	in.ctx = &g;
	if (!t->ctl->walk_addr || !t->ctl->report_addr)
		return err_set(e, ERR_USAGE,
			       "this recording was made by an older recorder, or with --malloc system, or of a program "
			       "with a sanitizer's heap: its heap and its accesses cannot be examined; record again, a "
			       "build without sanitizers");
	got = enter(&g, t, n, to, e) || find_end(&g, &goal, e) || passes(&g, to, e) ? -1 : 0;
	breaks_fini(&goal.stop);
	note_event(r, t, to);
	program_code_fini(&g.code);
	free(g.v);
	return segcur_leave(&in, got ? &why : e) ? -1 : got;
}
