/* SPDX-License-Identifier: MIT */
/* scout.c: see scout.h. */
#include "record/scout.h"

#include "record/xlate.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#define SLOWER 40u /* than the recorded run, at most */
#define MORE_NS 300000000u
#define LOOKS 64u /* at all words, at the first hits; later at each power of two */

/* What the copy shares with the original. */
struct shared {
	struct scout_answer answer;
	uint8_t must[MAX_WORDS];
};
#define SHARED_BYTES ((sizeof(struct shared) + 4095) & ~4095ul)
_Static_assert(sizeof(struct seek) + SHARED_BYTES <= POINT_AREA_BYTES, "struct seek, and what a scout shares");

/* In the copy. */
static struct seek *seek;
static struct shared *shared;
static uint64_t early; /* CPU time */
static uint64_t begun_ns, looked_ns; /* CPU time when it went, and that the looks took */
static int timer;
static uint64_t candidate; /* hits; 0: none */
static uint64_t then[MAX_WORDS]; /* the words there */

static _Noreturn void end(enum scout_state state, uint64_t hits)
{
	__builtin_memcpy(shared->must, seek->must, sizeof(shared->must));
	shared->answer.hits = hits;
	shared->answer.way_ns = point_cpu_ns() - begun_ns - looked_ns;
	shared->answer.state = state;
	for (;;)
		raw1(SYS_exit_group, 0);
}

/* Nothing more comes, or no more is waited for. */
void scout_event(void)
{
	end(candidate ? SCOUT_FOUND : SCOUT_NEVER, candidate);
}

static void on_time(int sig)
{
	(void)sig;
	scout_event();
}

static void stop(const char *why)
{
	(void)why;
	end(SCOUT_UNKNOWN, 0);
}

static void wait_until(uint64_t ns)
{
	struct itimerspec when = {.it_value = {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};

	raw4(SYS_timer_settime, timer, 1 /* TIMER_ABSTIME */, &when, 0);
}

/* A word that says no, and that translated code can look at. */
static void choose_filter(const uint64_t *regs, struct xlate_filter *f)
{
	if (regs[REG_RSP] != seek->want[REG_RSP]) {
		*f = (struct xlate_filter){.set = 1, .reg = xlate_reg[REG_RSP], .value = seek->want[REG_RSP]};
		return;
	}
	for (uint32_t k = 0; k < seek->nmust; k++) {
		uint32_t i = seek->list[k];
		unsigned must = seek->must[i];
		int is_reg = i < POINT_REGS;

		if (seek_same(seek, i, seek_word(seek, regs, i)) || (is_reg && (i >= XLATE_REGS || must == 2)))
			continue;
		*f = (struct xlate_filter){.set = 1, .reg = is_reg ? xlate_reg[i] : -1, .half = must != 3};
		f->addr = must == 2 ? seek->addr[i] + 4 : seek->addr[i];
		f->value = must == 2 ? seek->want[i] >> 32 : seek->want[i] & seek_mask(must);
		return;
	}
}

static int same_in_all(void)
{
	for (uint32_t i = 0; i < seek->words; i++)
		if (i != REG_RIP && seek->now[i] != seek->want[i])
			return 0;
	return 1;
}

/* A word that has begun to change was not as recorded at the candidate: then that was none. */
static void doubt(void)
{
	for (uint32_t k = 0; candidate && k < seek->nmust; k++)
		if (!seek_same(seek, seek->list[k], then[seek->list[k]]))
			candidate = 0;
	if (!candidate)
		wait_until(0);
}

/*
 * What matches too early may be so because a word that tells the difference has not changed yet: it is only believed
 * when such a word has had the time to.
 */
static void consider(uint64_t hits)
{
	if (candidate)
		return;
	candidate = hits;
	__builtin_memcpy(then, seek->now, sizeof(then));
	if (same_in_all() || point_cpu_ns() >= early)
		scout_event();
	wait_until(early);
}

static void hit(const uint64_t *regs, uint64_t hits, struct xlate_filter *f)
{
	static uint64_t calls;
	uint64_t now = point_cpu_ns();
	int all = ++calls <= LOOKS || !(calls & (calls - 1));

	if (all) {
		seek_look(seek, regs, 0);
		looked_ns += point_cpu_ns() - now;
	}
	if (candidate && all)
		doubt();
	if (!seek_matches(seek, regs)) {
		choose_filter(regs, f);
		return;
	}
	if (!all)
		seek_look(seek, regs, 0);
	if (seek_matches(seek, regs))
		consider(hits);
}

static int make_timer(int clock, int sig, uint64_t ns)
{
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
	struct itimerspec when = {.it_value = {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};
	int id;

	if (raw3(SYS_timer_create, clock, &ev, &id) || raw4(SYS_timer_settime, id, 0, &when, 0))
		end(SCOUT_UNKNOWN, 0);
	return id;
}

/* Whatever happens to it, the copy ends. */
static void limit(uint64_t ns)
{
	struct {
		void (*handler)(int);
		uint64_t flags, restorer, mask; /* on_time does not return */
	} act = {.flags = SA_ONSTACK | 0x04000000 /* SA_RESTORER */};
	uint64_t alarm = 1ull << (SIGALRM - 1);

	for (int sig = 1; sig < 32; sig++)
		raw4(SYS_rt_sigaction, sig, &act, 0, 8);
	act.handler = on_time;
	raw4(SYS_rt_sigaction, SIGALRM, &act, 0, 8);
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, 0, 8);
	raw4(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 0, 0, 0);
	make_timer(CLOCK_PROCESS_CPUTIME_ID, SIGKILL, ns);
	make_timer(CLOCK_MONOTONIC, SIGKILL, ns * 20); /* if it waits */
	timer = make_timer(CLOCK_PROCESS_CPUTIME_ID, SIGALRM, 0);
}

/* What the copy does to the control page is nobody's concern. */
static void leave_control(void)
{
	uint64_t len = (sizeof(*G.ctl) + 4095) & ~4095ull;
	uint8_t *copy = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (raw_failed(copy))
		end(SCOUT_UNKNOWN, 0);
	__builtin_memcpy(copy, G.ctl, sizeof(*G.ctl));
	raw6(SYS_mremap, (long)copy, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED, (long)G.ctl, 0);
}

static void run_copy(struct seek *s, ucontext_t *uc)
{
	static const struct xlate_ops ops = {hit, stop, scout_event};
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];
	uint64_t at;

	seek = s;
	G.scout = 1;
	limit(s->head.run_ns * SLOWER + MORE_NS);
	leave_control();
	at = xlate_begin((uint64_t)*rip, s->want[REG_RIP], &ops);
	if (!at)
		end(SCOUT_UNKNOWN, 0);
	begun_ns = point_cpu_ns();
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

/* The words that the copy saw change change here too. */
static void learn(struct seek *s, const struct shared *from)
{
	for (uint32_t i = 0; i < s->words; i++)
		seek_demand(s, i, from->must[i]);
}

int scout_ask(struct seek *s, ucontext_t *uc, uint64_t early_ns, struct scout_answer *a)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_ANONYMOUS | MAP_FIXED;
	void *at = (uint8_t *)s + POINT_AREA_BYTES - SHARED_BYTES;
	long pid;
	int status;

	a->state = SCOUT_UNKNOWN;
	if (raw_failed(raw_mmap(at, SHARED_BYTES, prot, MAP_SHARED | flags, -1, 0)))
		return 0;
	shared = at;
	early = early_ns;
	/* no signal at its end; and not traced, if this process is */
	pid = raw6(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0, 0);
	if (pid == 0) {
		run_copy(s, uc);
		return 1;
	}
	status = pid > 0 ? wait_for(pid) : -1;
	*a = shared->answer;
	if (WIFSIGNALED(status))
		a->state = WTERMSIG(status) == SIGKILL ? SCOUT_NEVER : SCOUT_UNKNOWN;
	if (a->state == SCOUT_FOUND)
		learn(s, shared);
	/* nothing shared stays behind: a checkpoint may follow */
	raw_mmap(at, SHARED_BYTES, prot, MAP_PRIVATE | MAP_NORESERVE | flags, -1, 0);
	return 0;
}
