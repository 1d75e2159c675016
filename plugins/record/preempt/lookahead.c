/* SPDX-License-Identifier: MIT */
/* lookahead.c: see lookahead.h. */
#include "record/preempt/lookahead.h"
#include "record/core/regs.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/dbt/xlate.h"
#include "record/event/arm.h"
#include "record/preempt/point.h"
#include "record/preempt/seek.h"
#include "record/shm/group.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#define SLOWER 12u /* the copy may take this many times as long as the recorded run */
#define MORE_NS 300000000u
/* limit of the CPU time for passes of the place and for blocks of code that may change */
#define WORK_MOST_NS 60000000000u
/* recorded runs, counted from the start, after which nothing better is expected; the translation takes longer */
#define AHEAD 4u
#define AHEAD_NS 10000000u
/* and this much longer for each block that is compared with the original first */
#define FRESH_LATER_NS 10u
/* and this much longer for each pass, while the best place so far cannot be right */
#define PASS_LATER_NS 15u
#define QUIET_NS 2000u
/*
 * After this many passes in succession, and at least this long, with the same registers and everything that has changed
 * as recorded, and without one better than before, the thread waits for another one.
 */
#define SAME_HITS 256u
#define SAME_NS 50000000u
/* the first hits, at which all words are compared; later, it is at each power of two */
#define LOOKS 64u

/* What the copy shares with the original. */
struct shared {
	struct lookahead_answer answer;
	uint8_t must[MAX_WORDS];
};
#define SHARED_BYTES ((sizeof(struct shared) + 4095) & ~4095ul)
_Static_assert(sizeof(struct seek) + SHARED_BYTES <= POINT_AREA_BYTES, "struct seek, and what a lookahead copy shares");

/* In the copy. */
static struct seek *seek;
static struct shared *shared;
static uint64_t begun_ns, looked_ns; /* CPU time when the copy was made, and CPU time of the comparisons */
static uint64_t fresh_before; /* blocks that were compared with the original until then */
static uint64_t patience_ns; /* CPU time until which something better than the best place so far is expected */
static uint64_t last_ns; /* the same clock: just before it is killed */
static int timer;
static uint64_t best; /* hits; 0: none */
static uint32_t best_doubts, best_stops, stops;
static uint8_t best_differs[MAX_WORDS]; /* halves of words that were not as recorded there */
static int best_is_early; /* the program has written one of those since, so that was not the place */
static uint64_t same, same_since_ns; /* passes that are all alike, and the clock at the first one */
static uint64_t same_regs[POINT_REGS]; /* at those */

static _Noreturn void end(enum lookahead_state state, uint64_t hits)
{
	__builtin_memcpy(shared->must, seek->must, sizeof(shared->must));
	shared->answer.hits = hits;
	shared->answer.stops = best_stops;
	shared->answer.way_ns = task_cpu_ns() - begun_ns - looked_ns;
	shared->answer.state = state;
	for (;;)
		raw1(SYS_exit_group, 0);
}

/* The copy reaches an event, or stops waiting for a better place. */
void lookahead_event(void)
{
	end(best ? LOOKAHEAD_FOUND : LOOKAHEAD_NEVER, best);
}

/* Ends the copy if it has found nothing in its time and that of its passes. */
void lookahead_tick(void)
{
	if (!best && task_cpu_ns() > last_ns + seek_work_ns(seek))
		lookahead_event();
}

void lookahead_stop(void)
{
	end(best ? LOOKAHEAD_FOUND : LOOKAHEAD_UNKNOWN, best);
}

void lookahead_leaves(int goes_on)
{
	if (!goes_on)
		lookahead_stop();
	stops++;
}

void lookahead_is_back(void)
{
	stops--;
}

static void wait_until(uint64_t ns)
{
	struct itimerspec when = {.it_value = {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};

	raw4(SYS_timer_settime, timer, 1 /* TIMER_ABSTIME */, &when, 0);
}

/* As long as the copy lives, the comparisons' own time does not count. */
static uint64_t patient_until(void)
{
	uint64_t fresh = seek->walk ? xlate_fresh_blocks(seek->walk) - fresh_before : 0;
	uint64_t later = seek_least(fresh, seek->head.run_ns * FRESH_PER_NS) * FRESH_LATER_NS;
	uint64_t passes_ns = best_is_early && seek->walk ? xlate_hits(seek->walk) * PASS_LATER_NS : 0;

	return seek_least(begun_ns + patience_ns + looked_ns + passes_ns, last_ns) + seek_least(later, WORK_MOST_NS);
}

static void be_patient(void)
{
	wait_until(patient_until());
}

/* The words that have changed since must be as recorded at the place: checks that for the best place so far. */
static void look_back(void)
{
	for (uint32_t k = 0; best && k < seek->nmust; k++)
		if (seek->must[seek->list[k]] & best_differs[seek->list[k]])
			best_is_early = 1;
}

static void on_time(int sig)
{
	(void)sig;
	look_back();
	if (task_cpu_ns() >= patient_until())
		lookahead_event();
	be_patient();
}

/* on_time() reads these: it waits until they belong together. */
static void take(const uint64_t *regs, uint64_t hits, uint32_t doubts)
{
	uint64_t alarm = SIG_BIT(SIGALRM);

	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &alarm, 0, 8);
	best = hits;
	best_doubts = doubts;
	best_stops = stops;
	best_is_early = 0;
	for (uint32_t i = 0; i < seek->words; i++)
		best_differs[i] = i == REG_RIP ? 0 : seek_halves(seek_word(seek, regs, i) ^ seek->want[i]);
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, 0, 8);
}

static void consider(const uint64_t *regs, uint64_t hits)
{
	uint32_t limit, doubts;

	look_back();
	limit = best_is_early ? SEEK_WRONG : best_doubts;
	doubts = seek_doubts(seek, regs, limit);
	if (doubts >= limit) {
		if (!same || __builtin_memcmp(regs, same_regs, sizeof(same_regs)) != 0) {
			same = 0;
			same_since_ns = task_cpu_ns();
			__builtin_memcpy(same_regs, regs, sizeof(same_regs));
		}
		if (++same >= SAME_HITS && task_cpu_ns() - same_since_ns >= SAME_NS)
			lookahead_event(); /* nothing will change */
		return;
	}
	same = 0;
	take(regs, hits, doubts);
	if (!doubts)
		lookahead_event();
}

enum xlate_go lookahead_hit(struct seek *s, const uint64_t *regs, uint64_t hits, struct xlate_filter *f)
{
	static uint64_t calls;
	uint64_t now = task_cpu_ns();

	if (++calls <= LOOKS || !(calls & (calls - 1))) {
		seek_walk_look(s, regs, 1);
		looked_ns += task_cpu_ns() - now;
	} else {
		seek_walk_look(s, regs, 0);
	}
	if (seek_matches(s, regs)) {
		now = task_cpu_ns();
		consider(regs, hits);
		looked_ns += task_cpu_ns() - now;
		if (best)
			be_patient();
	} else {
		same = 0;
	}
	seek_filter(s, regs, f);
	return XLATE_ON;
}

static int make_timer(int clock, int sig, uint64_t ns)
{
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
	struct itimerspec when = {.it_value = {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};
	int id;

	if (raw3(SYS_timer_create, clock, &ev, &id) || raw4(SYS_timer_settime, id, 0, &when, 0))
		end(LOOKAHEAD_UNKNOWN, 0);
	return id;
}

/* Ends the copy after this time, whatever happens to it. */
static void limit(uint64_t ns)
{
	struct {
		void (*handler)(int);
		uint64_t flags;
		void (*restorer)(void);
		uint64_t mask;
	} act = {on_time, SA_ONSTACK | 0x04000000 /* SA_RESTORER */, __restore_rt, 0};
	uint64_t alarm = SIG_BIT(SIGALRM);

	raw4(SYS_rt_sigaction, SIGALRM, &act, 0, 8);
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, 0, 8);
	raw4(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 0, 0, 0);
	raw4(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL, 0, 0); /* or it would keep its PID from the next attempt */
	make_timer(CLOCK_PROCESS_CPUTIME_ID, SIGKILL, ns);
	make_timer(CLOCK_MONOTONIC, SIGKILL, ns * 20); /* if it waits */
	timer = make_timer(CLOCK_PROCESS_CPUTIME_ID, SIGALRM, 0);
}

/* Gives the copy a control page of its own. */
static void leave_control(void)
{
	uint64_t len = (sizeof(*G.ctl) + 4095) & ~4095ull;
	uint8_t *copy = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (raw_failed(copy))
		end(LOOKAHEAD_UNKNOWN, 0);
	__builtin_memcpy(copy, G.ctl, sizeof(*G.ctl));
	raw6(SYS_mremap, (long)copy, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED, (long)G.ctl, 0);
}

static enum xlate_go hit(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *f)
{
	return lookahead_hit(arg, regs, hits, f);
}

static void stop(void *arg, uint64_t pc, uint64_t next)
{
	struct seek *s = arg;

	(void)pc;
	lookahead_leaves(next != 0);
	s->walking = 0;
	seek_arm(s, QUIET_NS);
}

static void begin(struct seek *s)
{
	uint64_t work_ns = seek_least(SEEK_WORK_MOST_NS(s->head.run_ns), WORK_MOST_NS);

	seek = s;
	best = 0;
	best_doubts = SEEK_WRONG;
	looked_ns = 0;
	fresh_before = s->walk ? xlate_fresh_blocks(s->walk) : 0;
	begun_ns = task_cpu_ns();
	patience_ns = s->head.run_ns * AHEAD + AHEAD_NS;
	if (patience_ns > 2 * s->gone_ns)
		patience_ns -= s->gone_ns;
	else
		patience_ns /= 2;
	stops = best_stops = 0;
	best_is_early = 0;
	same = 0;
	G.lookahead = 1;
	if (seek_make_timer(s))
		end(LOOKAHEAD_UNKNOWN, 0);
	limit(s->head.run_ns * SLOWER + MORE_NS + work_ns);
	last_ns = s->head.run_ns * SLOWER + MORE_NS / 2;
	leave_control();
}

static void send_copy(struct seek *s, ucontext_t *uc)
{
	static const struct xlate_ops ops = {hit, stop};
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];
	uint64_t regs[POINT_REGS], at;

	begin(s);
	xlate_free(s->walk); /* the original's, which has come to something that cannot be translated */
	s->walk = xlate_new(s->want[REG_RIP], 0, &ops, s);
	point_regs(uc, regs);
	seek_rebase(s, regs, SEEK_ALL);
	s->natives = 0;
	at = s->walk ? xlate_enter(s->walk, (uint64_t)*rip) : 0;
	if (!at)
		lookahead_stop();
	s->walking = s->walks = 1;
	s->traced = 0;
	fresh_before = 0;
	begun_ns = task_cpu_ns();
	seek_arm(s, TICK_NS);
	*rip = (greg_t)at;
}

static int wait_for(long pid)
{
	int status = 0;
	long r;

	do
		r = raw4(SYS_wait4, pid, &status, __WALL, 0);
	while (r == -EINTR);
	return r == pid ? status : -1;
}

/* Words that changed in the copy will change here as well. */
static void learn(struct seek *s, const struct shared *from)
{
	for (uint32_t i = 0; i < s->words; i++)
		seek_demand(s, i, from->must[i]);
}

/* 0: the answer is in a. 1: this is the copy. */
static int copy(struct seek *s, struct lookahead_answer *a)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_ANONYMOUS | MAP_FIXED;
	void *at = (uint8_t *)s + POINT_AREA_BYTES - SHARED_BYTES;
	long pid;
	int status;

	a->state = LOOKAHEAD_UNKNOWN;
	if (raw_failed(raw_mmap(at, SHARED_BYTES, prot, MAP_SHARED | flags, -1, 0)))
		return 0;
	/* no signal at its end; and not traced, if this process is */
	pid = raw6(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0, 0);
	if (pid == 0) {
		arm_replay_thread(); /* a clone does not inherit it */
		alias_own_take(alias_own_make());
		shared = at;
		return 1;
	}
	status = pid > 0 ? wait_for(pid) : -1;
	*a = ((struct shared *)at)->answer;
	if (WIFSIGNALED(status))
		a->state = WTERMSIG(status) == SIGKILL ? LOOKAHEAD_NEVER : LOOKAHEAD_UNKNOWN;
	if (a->state == LOOKAHEAD_FOUND)
		learn(s, at);
	/* nothing shared stays behind: a checkpoint may follow */
	raw_mmap(at, SHARED_BYTES, prot, MAP_PRIVATE | MAP_NORESERVE | flags, -1, 0);
	return 0;
}

int lookahead_ask(struct seek *s, ucontext_t *uc, struct lookahead_answer *a)
{
	s->gone_ns = s->ran_ns;
	for (;; s->soft = 1) {
		if (copy(s, a)) {
			send_copy(s, uc);
			return 1;
		}
		if (a->state != LOOKAHEAD_NEVER || s->soft)
			return 0;
	}
}

int lookahead_ahead(struct seek *s, const uint64_t *regs, uint64_t hits, uint32_t doubts, struct lookahead_answer *a)
{
	s->gone_ns = task_cpu_ns() - s->begin_ns;
	if (!copy(s, a))
		return 0;
	begin(s);
	take(regs, hits, doubts);
	be_patient();
	return 1;
}
