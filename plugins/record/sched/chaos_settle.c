/* SPDX-License-Identifier: MIT */
/*
 * chaos_settle.c: which threads will soon ask for the turn? See chaos.h. A thread that was woken, or is ending, asks
 * for the turn, or wakes another thread, some time later. A decision made before that would depend on how long it
 * takes.
 */
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/sched/chaos.h"

#define TRIES 3000
#define FEW_TRIES 20 /* after a time when some did not come */
#define UNSURE 20 /* checks of a thread that sleeps where no call of the program does */
#define PAUSE_NS 20000l

static int tired; /* a thread has been running in a call for long, or was not created */

static int is_gone(struct thr *x)
{
	if (!x->chaos.gone && raw3(SYS_tgkill, G.pid, x->tid, 0) == -3 /* ESRCH */)
		x->chaos.gone = 1;
	return x->chaos.gone;
}

/* tries: checks so far */
static int is_settled(struct thr *x, int tries)
{
	if (__atomic_load_n(&x->gil.queued, __ATOMIC_ACQUIRE))
		return 1;
	if (x->chaos.coming || !x->tid)
		return !x->chaos.coming;
	if (x->exited)
		return is_gone(x) || x->ordinal == 1; /* the thread that joins it is woken at its very end */
	if (chaos_sleeper_due(x))
		return 0;
	if (x->gil.on || (!x->blocking && tries < UNSURE))
		return 0;
	return task_state(x) == 'S';
}

static int all_settled(const struct thr *t, int tries, int *sleeps)
{
	*sleeps = 0;
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		struct thr *x = &G.thr[i];

		if (x == t || is_settled(x, tries))
			continue;
		*sleeps = x->chaos.sleeps;
		return 0;
	}
	return 1;
}

void chaos_settle(const struct thr *t)
{
	long pause[2] = {0, PAUSE_NS};
	int sleeps;

	for (int i = 0; !all_settled(t, i, &sleeps);) {
		i += !sleeps;
		if (i == (tired ? FEW_TRIES : TRIES)) {
			tired = 1;
			return;
		}
		raw2(SYS_nanosleep, pause, 0);
	}
	tired = 0;
}

static int waits_for(const struct thr *x, const void *obj)
{
	return x->blocking && (x->waits[0] == obj || x->waits[1] == obj);
}

void chaos_woke(struct thr *t)
{
	const void *obj = t->released;

	t->released = 0;
	for (uint32_t i = 1; obj && i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (waits_for(&G.thr[i], obj)) {
			chaos_settle(t);
			return;
		}
}

void chaos_await(const struct thr *c)
{
	long pause[2] = {0, PAUSE_NS};

	for (int i = 0; i < TRIES && !__atomic_load_n(&c->gil.queued, __ATOMIC_ACQUIRE) && !c->exited; i++)
		raw2(SYS_nanosleep, pause, 0);
}
