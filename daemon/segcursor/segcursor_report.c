/* SPDX-License-Identifier: MIT */
/*
 * segcursor_report.c: see segcursor_report.h. The copy runs as it is up to where the recorder returns to the program,
 * and from there in translated code (trace/walk.h). What is not translated (a system call in the program's code, a
 * trap) the processor executes; after it the copy goes on in translated code.
 */
#include "segcursor/segcursor_report.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "rlog/report.h"
#include "segcursor/segcursor_int.h"
#include "trace/blocked.h"
#include "visibility/program_code.h"
#include "visibility/shim_frames.h"

#define FULL (512u << 10) /* bytes of the report, at which it is read: few enough to stay in the processor's cache */
#define KEEP_FREE (1u << 20) /* and besides, for entries that are made between two checks of whether it is full */
#define ROOM (FULL + KEEP_FREE)
#define BRIEF_SECONDS 100e-6
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
	uint64_t from; /* the event before the first segment */
	uint64_t at; /* the report in the copy */
	struct goal *goal; /* where an interruption ends the segment; NULL: it ends at an event */
	pid_t pid; /* of the copy */
	struct trace *copy;
	struct trace_walk walk;
	struct program_code code; /* the processor may not execute it in the copy */
	bool begun; /* the copy has come to the program's code */
	unsigned asleep; /* consecutive checks at which it waited for another thread, which the copy lacks */
	uint64_t most_ns; /* of CPU time; after that it has gone past its end, or waits in a loop for another thread */
	bool past; /* it has taken more than that, or has made more accesses than the consumer wants to be told of */
	uint64_t *v; /* entries that were taken out... */
	size_t n, room; /* ... and not told yet: words */
	bool failed; /* the consumer has, while the copy ran */
	struct err why;
	bool called; /* the walk has ended where the recorder, or what it has called, calls the program's code */
	bool faulted; /* the walk has ended in front of an instruction that faults */
	bool spread; /* the copy may run on other cores than the worker */
	bool brief; /* it took little time when it was recorded */
	uint64_t onlys, only[REPORT_ONLY_MAX]; /* what is told once more; 0: it is the first time */
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

/* Which accesses are to have entries. */
static int choose_filter(struct reporting *g, struct trace *t, struct err *e)
{
	const uint64_t args[6] = {
		REPLAY_SHADOW_ADDR,	REPORT_SHADOW_BYTES,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		(uint64_t)-1,		0};
	struct segcur_report *r = g->r;
	int64_t ret;
	int is;

	r->filter = REPORT_ALL;
	if (g->onlys)
		r->filter = REPORT_ONLY;
	if (r->ops->sort && !g->brief && !r->every && !g->onlys &&
	    g->in->seg.t->ctl->report_filters >= REPORT_FILTERS_NEW) {
		is = segcur_known_map(&r->known, t, g->in->seg.gadget, e);
		r->filter = is > 0 ? REPORT_NEW : REPORT_ALL;
		return is < 0 ? -1 : 0;
	}
	r->above |= g->in->seg.thread >= REPORT_HEAP_THREADS;
	if (g->onlys || !r->ops->shadow || r->every || r->above || !g->in->seg.t->ctl->report_filters)
		return 0;
	if (trace_syscall(t, g->in->seg.gadget, SYS_mmap, args, &ret, e))
		return -1;
	/* a limit of the program's own may forbid it */
	is = (uint64_t)ret == REPLAY_SHADOW_ADDR ? r->ops->shadow(r->ctx, t, REPLAY_SHADOW_ADDR, e) : 0;
	r->filter = is ? REPORT_SHADOW : REPORT_HEAP;
	return is < 0 ? -1 : 0;
}

static int map_report(struct reporting *g, struct trace *t, struct err *e)
{
	/* at this address it is ignored by comparisons of states, and in no mapping's way */
	size_t word_bytes = g->r->words * sizeof(*g->r->word);
	const uint64_t args[6] = {
		REPLAY_REPORT_ADDR,	ROOM + word_bytes,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		(uint64_t)-1,		0};
	uint64_t word = g->in->seg.t->ctl->report_addr;
	struct replay_report head;
	int64_t ret;

	if (choose_filter(g, t, e) || trace_syscall(t, g->in->seg.gadget, SYS_mmap, args, &ret, e))
		return -1;
	if (ret < 0 && ret > -4096)
		return err_set(e, ERR_HOST, "no memory in the copy %d", (int)t->pid);
	g->at = (uint64_t)ret;
	head = (struct replay_report){.cur = g->at + sizeof(head),
				      .full = g->at + FULL,
				      .end = g->at + ROOM,
				      .every = g->r->every,
				      .args = g->r->args && !g->onlys,
				      .loaded_lo = g->r->loaded && !g->onlys ? g->in->visibility.libc.lo : 0,
				      .loaded_hi = g->r->loaded && !g->onlys ? g->in->visibility.libc.hi : 0,
				      .filter = g->r->filter,
				      .words = g->r->words,
				      .word_at = g->at + ROOM,
				      .called_sp = g->r->called_sp,
				      .onlys = g->onlys,
				      .kinds = REPORT_KIND_COUNT};
	memcpy(head.only, g->only, sizeof(head.only));
	return trace_write(t->pid, g->at, &head, sizeof(head), e) ||
			       trace_write(t->pid, head.word_at, g->r->word, word_bytes, e) ||
			       trace_write(t->pid, word, &g->at, sizeof(g->at), e)
		       ? -1
		       : 0;
}

/* Takes the entries out; the copy can go on then. */
static int take(struct reporting *g, struct trace *t, struct err *e)
{
	struct replay_report head;
	uint64_t first = g->at + sizeof(head);
	size_t bytes;

	if (trace_read(t->pid, g->at, &head, sizeof(head), e))
		return -1;
	bytes = head.cur - first;
	if (bytes > ROOM)
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

/* Tells what was taken out. */
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

/* Takes the entries out and tells them. */
static int drain(struct reporting *g, struct trace *t, struct err *e)
{
	return told(g, e) || take(g, t, e) || told(g, e) ? -1 : 0;
}

/* ---- in the recorder, and what is not translated ---- */

enum called { CALLED_NOT, CALLED_RET /* it goes on */, CALLED };

/*
 * The copy has stopped as *stop says: because the program's code was called? A `ret` of the program's through which the
 * recorder's call of a function returns (visibility_is_trampoline) is executed here. -1: error.
 */
static int called_program(struct reporting *g, struct trace *t, const struct stop *stop, struct err *e)
{
	struct user_regs_struct r;

	if (stop->kind != STOP_SIGNAL || stop->sig != SIGSEGV)
		return CALLED_NOT;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!program_code_is_forbidden(&g->code, t, r.rip))
		return CALLED_NOT;
	if (!visibility_is_trampoline(&g->in->visibility, t->pid, &r))
		return CALLED;
	if (trace_read(t->pid, r.rsp, &r.rip, sizeof(r.rip), e))
		return -1;
	r.rsp += sizeof(r.rip);
	return trace_set_regs(t, &r, e) ? -1 : CALLED_RET;
}

/*
 * Runs natively to `to` (0: to no certain place), to where the recorder calls a handler of the program's, or to where
 * the program's code is called: STOP_BREAK.
 */
static int run_once(struct reporting *g, struct trace *t, uint64_t to, struct stop *stop, struct err *e)
{
	struct segcur *in = g->in;
	struct breaks b = {.signals = true, .pass = ~(1ull << (SIGSEGV - 1))};
	int sig = 0, r, called;

	if (to)
		breaks_add(&b, to, 0);
	if (in->visibility.handlers)
		breaks_add(&b, in->visibility.handlers, 0);
	do {
		r = segcur_run_copy(in, t, &sig, &b, NULL, stop, e);
		called = r ? -1 : called_program(g, t, stop, e);
		/* the fault is the recorder's own, or of an instruction that it executes in the program's place */
		sig = called == CALLED_NOT && stop->kind == STOP_SIGNAL ? -stop->sig : 0;
	} while (called == CALLED_RET || sig);
	breaks_fini(&b);
	if (called == CALLED)
		stop->kind = STOP_BREAK;
	return called < 0 ? -1 : 0;
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
		if (r.rip != to->rip || r.rsp == to->rsp || program_code_is_forbidden(&g->code, t, r.rip))
			return 0;
		if (trace_step(t, 0, &s, e))
			return -1;
	}
}

/* By single steps to a state of the program. */
static int step_out(struct reporting *g, struct trace *t, struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct shim_call call;
	int sig = 0, called;

	do {
		if (trace_get_regs(t, &r, e))
			return -1;
		shim_frames_find_shim_call(g->in->shim_frames, &g->in->visibility, t->pid, &r, &call);
		if (segcur_step_seeing(g->in, t, NULL, call, &sig, stop, e))
			return -1;
		called = called_program(g, t, stop, e);
		if (called == CALLED)
			stop->kind = STOP_BREAK;
	} while (called == CALLED_RET);
	return called < 0 ? -1 : 0;
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
	     (segcur_is_syscall(t, r->rip - SEGCUR_SYSCALL_BYTES) && !shim_frames_hides(o, v, t->pid, r))))
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

/*
 * The processor executes the instruction that stands here, alone. If it faults, or traps, the copy stands in the
 * recorder's handler of that afterwards. false in *alive: that has ended it.
 */
static int execute(struct reporting *g, struct trace *t, bool *alive, struct err *e)
{
	uint64_t gadget = g->in->seg.gadget, pc;
	struct trace_stop s;

	if (trace_get_pc(t, &pc, e) || program_code_allow(&g->code, t, gadget, pc, true, e) ||
	    trace_step(t, 0, &s, e) || (s.why == TRACE_SIGNAL && trace_step(t, s.info.si_signo, &s, e)))
		return -1;
	*alive = s.why != TRACE_EXITED;
	return *alive ? program_code_allow(&g->code, t, gadget, pc, false, e) : 0;
}

/* An instruction that is not translated, or that faults as it did in the program. */
static int step(struct reporting *g, struct trace *t, struct err *e)
{
	const struct visibility *v = &g->in->visibility;
	struct stop stop = {.kind = STOP_OVER};
	struct user_regs_struct r;
	uint64_t from;
	bool alive;

	g->faulted = false;
	if (trace_get_pc(t, &from, e) || execute(g, t, &alive, e))
		return -1;
	if (!alive)
		return AT_END;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!visibility_is_shim(v, r.rip))
		return GOES_ON;
	/* the recorder returns to where it was, or calls a handler */
	if (visibility_is_certain(v, from) ? run_once(g, t, 0, &stop, e) : step_out(g, t, &stop, e))
		return -1;
	return settle(g, t, &stop, e);
}

/* A call of the kernel. */
static int call_kernel(struct reporting *g, struct trace *t, const struct user_regs_struct *to, struct err *e)
{
	uint64_t gadget = g->in->seg.gadget, pc = to->rip - SEGCUR_SYSCALL_BYTES;
	struct stop stop = {0};

	if (program_code_allow(&g->code, t, gadget, pc, true, e) || run_to(g, t, to, &stop, e) ||
	    (stop.kind != STOP_OVER && program_code_allow(&g->code, t, gadget, pc, false, e)))
		return -1;
	return settle(g, t, &stop, e);
}

/* The walk has ended: the processor executes the instruction that stands here. */
static int step_over(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (visibility_is_shim(&g->in->visibility, r.rip))
		return come_out(g, t, e);
	g->r->stepped++;
	if (!segcur_is_syscall(t, r.rip))
		return step(g, t, e);
	r.rip += SEGCUR_SYSCALL_BYTES;
	return call_kernel(g, t, &r, e);
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

/* What the filter leaves out is counted, but does not fill the report. */
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
 * The copy goes on at once, and what it has reported is told while it runs: on another core, if there is one. But not
 * where each instruction is reported: a consumer then looks at strings in the copy's memory as well.
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

/*
 * Which instruction has faulted in the translated code at pc: that of the last mark up to there. What is not copied as
 * it is (a branch by memory) accesses it some bytes later.
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

#define SAME_BYTES 2u

/*
 * The entry in front of the instruction that faults is the last one. Its copy begins with the same bytes; else one of
 * the instructions that write entries has faulted, or one of the recorder's.
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

/* A thread that ends does not stop: the next one would, which the copy lacks. */
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

/*
 * The copy comes to the program's code for the first time: the call in which it began may have mapped code. The program
 * may now have code that changes in memory that the processor may not execute, if the recorder is told of it.
 */
static int begin(struct reporting *g, struct trace *t, struct err *e)
{
	struct replay_walk *ask = &g->walk.ask;
	uint64_t most = g->in->seg.t->ctl->walk_codes, n = 0;

	g->begun = true;
	if (segcur_report_maps(g->in->seg.t, g->from) &&
	    (program_code_find(&g->code, t->pid, &g->in->visibility, e) ||
	     program_code_forbid(&g->code, t, g->in->seg.gadget, false, e)))
		return -1;
	for (size_t k = 0; k < g->code.n; k++)
		n += g->code.v[k].changes;
	if (!n || n > most || n > REPLAY_WALK_CODES)
		return 0;
	for (size_t k = 0; k < g->code.n; k++) {
		if (!g->code.v[k].changes)
			continue;
		ask->code[ask->codes].lo = g->code.v[k].at.lo;
		ask->code[ask->codes++].hi = g->code.v[k].at.hi;
	}
	return program_code_forbid(&g->code, t, g->in->seg.gadget, true, e);
}

#define STACK_ALIGN 16u
/*
 * Is it at the beginning of a function of the program's that is called by what is not translated? At a call the stack
 * is aligned, by the ABI, and so it is again after the return.
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

	if (trace_get_regs(t, &r, e) || (!g->begun && begin(g, t, e)))
		return -1;
	if (g->r->ops->returned)
		g->r->ops->returned(g->r->ctx, r.rsp);
	if (g->r->ops->calls_back && is_called_back(g, t, &r)) {
		if (drain(g, t, e))
			return -1;
		g->r->ops->calls_back(g->r->ctx);
	}
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
		return g->faulted ? step(g, t, e) : step_over(g, t, e);
	case WALK_CANNOT:
		return gave_up(g, t);
	default:
		return g->past && e->kind == ERR_CANCELLED ? NOT_FOUND : -1;
	}
}

/* Has the copy done something else than what is recorded? It stands in the recorder then, as at the segment's end. */
static bool has_diverged(const struct trace *t)
{
	struct err ignored;
	uint32_t state;

	return t->alive &&
	       !trace_read(t->pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, state), &state, sizeof(state),
			   &ignored) &&
	       (state == REPLAY_DIVERGED || state == REPLAY_FAILED);
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
	g->r->unseen += r == NOT_FOUND || has_diverged(t);
	return t->alive ? drain(g, t, e) : told(g, e);
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

	return map_report(g, t, e) || program_code_forbid(&g->code, t, g->in->seg.gadget, false, e) ||
			       prepare_walk(g, e) || go_through(g, t, e)
		       ? -1
		       : 0;
}

/* Another copy, if the consumer wants to be told of accesses of some instructions. */
static int once_more(struct reporting *g, uint64_t to, struct err *e)
{
	struct segcur_report *r = g->r;
	uint64_t unseen = r->unseen, stepped = r->stepped, broken = r->broken, lost = r->lost;
	struct reporting m = {.r = r, .in = g->in, .from = g->from, .copy = &g->in->base, .goal = g->goal};
	int got;

	m.code = g->code;
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

/* What is asked for while they are told is answered also if the consumer has enough, which ends them. */
static int passes(struct reporting *g, uint64_t to, struct err *e)
{
	struct err other;
	int got = pass(g, e);

	return once_more(g, to, got ? &other : e) ? -1 : got;
}

/* Were the events after n up to `to` recorded within BRIEF_SECONDS? Tables of known accesses cost more than they save.
 */
static bool is_brief(const struct target *t, uint64_t n, uint64_t to)
{
	struct timeline_event first = {0}, last;
	struct err ignored;

	return !timeline_read(t->tl, to, &last, &ignored) && (!n || !timeline_read(t->tl, n, &first, &ignored)) &&
	       last.seconds - first.seconds < BRIEF_SECONDS;
}

int segcur_report_segments(struct segcur_report *r, struct target *t, uint64_t n, uint64_t to, struct shim_frames *o,
			   struct err *e)
{
	struct segcur in = {.n = to - 1, .shim_frames = o};
	struct reporting g = {.r = r, .in = &in, .from = n, .copy = &in.base, .brief = is_brief(t, n, to)};
	struct goal goal = {0};
	struct err why;
	int got;

	in.interrupted = waits_in_vain;
	in.ctx = &g;
	if (!t->ctl->walk_addr || !t->ctl->report_addr)
		return err_set(e, ERR_USAGE,
			       "this recording was made by an older recorder, or with --malloc system: its heap and "
			       "its accesses cannot be examined; record again");
	got = enter(&g, t, n, to, e) || find_end(&g, &goal, e) || passes(&g, to, e) ? -1 : 0;
	breaks_fini(&goal.stop);
	note_event(r, t, to);
	program_code_fini(&g.code);
	free(g.v);
	return segcur_leave(&in, got ? &why : e) ? -1 : got;
}
