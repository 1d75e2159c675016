/* SPDX-License-Identifier: MIT */
/*
 * spin_watch.c: parallel recordings: finds threads that wait by reading memory again and again (spin.h), either when
 * another thread has made a system call, or from the thread's own system calls. The log cannot tell when such a thread
 * sees what another thread has written, so from then on one thread runs at a time (gil.c).
 */
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/util.h"
#include "record/sched/gil.h"
#include "record/store/log.h"

#define WATCH_NS 4000000u /* a thread without an event for this time is examined; least time between two searches */
#define WATCH_MOST_NS 256000000u /* most time between two searches */
#define LOOK_NS 50000l
/* of LOOK_NS each: a thread that sleeps in the kernel may not be woken by the signal */
#define ANSWER_LOOKS 400
#define STARVED_LOOK_NS 1000000l
/* of STARVED_LOOK_NS each, after those: for a thread that waits for a processor */
#define STARVED_LOOKS 2000

int threads_alone(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && G.thr[i].tid && !G.thr[i].exited)
			return 0;
	return 1;
}

static int is_timer(int fd)
{
	static const char link[] = "anon_inode:[timerfd]";
	char path[32], found[sizeof(link)], *p;

	p = fmt_dec(fmt_str(path, path + sizeof(path) - 1, "/proc/self/fd/"), path + sizeof(path) - 1, (uint64_t)fd, 0);
	*p = 0;
	return raw3(SYS_readlink, path, found, sizeof(found)) == sizeof(link) - 1 &&
	       !__builtin_memcmp(found, link, sizeof(link) - 1);
}

/*
 * A thread that sleeps, yields or reads a timer twice, with no other call in between, communicates through memory:
 * otherwise its loop would do nothing. It either reads what another thread writes, or writes what another thread reads,
 * as the timer threads of runtime systems do.
 */
static int polls(struct thr *t, long nr, const long *a, int sleeps, const uint8_t *from)
{
	/* threads that do nothing but wait for ticks use these calls; even the first tick may race */
	int ticks = nr == SYS_read || nr == SYS_select || nr == SYS_pselect6, again;

	if (!sleeps)
		return 0;
	again = (t->slept.to == from && t->slept.nr == nr) || (ticks && t->ordinal > 1 && !t->slept.to);
	t->slept.to = t->log.cur;
	t->slept.nr = (uint32_t)nr;
	return again && !threads_alone(t) && (nr != SYS_read || is_timer((int)a[0]));
}

static int has_answered(const struct thr *x)
{
	return !__atomic_load_n(&x->preempt.due, __ATOMIC_ACQUIRE) || x->exited;
}

/*
 * Waits until the handler of the signal has examined the thread. On a busy machine a thread may wait for a processor
 * much longer than its handler takes; the handler then runs before anything else. *looks: how many of STARVED_LOOKS are
 * left.
 */
static void await_answer(const struct thr *x, int *looks)
{
	const long pause[2] = {0, LOOK_NS}, longer[2] = {0, STARVED_LOOK_NS};

	for (int i = 0; i < ANSWER_LOOKS && !has_answered(x); i++)
		raw2(SYS_nanosleep, pause, 0);
	for (; *looks > 0 && !has_answered(x) && task_state(x) == 'R'; --*looks)
		raw2(SYS_nanosleep, longer, 0);
}

/*
 * Asks the threads that have made no event for a while whether they spin (interrupt.c); less and less often, as long as
 * none does.
 */
static void watch_others(const struct thr *t)
{
	static uint64_t next, every_ns = WATCH_NS;
	uint64_t now = stamp_now(), mhz = G.control->tsc_hz / 1000000, was = __atomic_load_n(&next, __ATOMIC_RELAXED);
	int looks = STARVED_LOOKS;

	if (now < was || !__atomic_compare_exchange_n(&next, &was, now + every_ns / 1000 * mhz, 0, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		struct thr *x = &G.thr[i];

		if (x == t || !x->tid || x->exited || x->own_process || x->depth || x->blocking ||
		    x->last_stamp + WATCH_NS / 1000 * mhz > now)
			continue;
		interrupt_poke(x);
		if (every_ns < WATCH_MOST_NS)
			every_ns *= 2;
	}
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && G.thr[i].tid)
			await_answer(&G.thr[i], &looks);
}

void spin_fork_child(struct thr *now)
{
	now->preempt.sampled = now->preempt.spins = 0;
	G.spins = 0;
	for (uint32_t i = 1; G.mode == SHIM_RECORD && i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != now)
			G.thr[i].tid = 0;
}

void spin_after_call(struct thr *t, long nr, const long *a, int sleeps, const uint8_t *from)
{
	const char *why = 0;
	char text[232], *p;

	if (G.mode == SHIM_REPLAY) {
		gil_start_replay(t);
		return;
	}
	if (G.control->clock || G.control->tsc_hz < 1000000)
		return;
	watch_others(t);
	if (polls(t, nr, a, sleeps, from))
		why = "one thread ran at a time from where one looked at or wrote memory between two sleeps, at ";
	else if (__atomic_load_n(&G.spins, __ATOMIC_RELAXED))
		why = "one thread ran at a time from where one spun, as seen at ";
	if (!why)
		return;
	p = fmt_str(text, text + sizeof(text), why);
	describe_caller(t->caller, p, (unsigned)(text + sizeof(text) - p));
	note(RLOG_NOTE_CHOICE, 0, text);
	gil_start_now(t);
}
