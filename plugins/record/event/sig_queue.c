/* SPDX-License-Identifier: MIT */
/*
 * sig_queue.c: see sig_queue.h. A few signals have room in the thread's struct. More than that come at once when a
 * program queues real-time signals while they are blocked: then the queue moves to an area of its own, until it is
 * empty. That has room for more than the kernel itself keeps for a user by default (RLIMIT_SIGPENDING). Called in
 * handlers.
 */
#include "record/event/sig_queue.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/store/log.h"

#define FIRST_REAL_TIME 32

struct more {
	uint32_t waiting[FIRST_REAL_TIME]; /* how many of each of these signals are in the queue */
	siginfo_t at[];
};
#define MORE_MAX ((SHIM_QUEUE_SIZE - sizeof(struct more)) / sizeof(siginfo_t))

static siginfo_t *place(struct thr *t, uint32_t i)
{
	return t->queue.more ? &t->queue.more->at[(t->queue.first + i) % MORE_MAX]
			     : &t->queue.v[(t->queue.first + i) % SIG_QUEUE];
}

static void count(struct thr *t, int sig, uint32_t by)
{
	if (t->queue.more && sig < FIRST_REAL_TIME)
		t->queue.more->waiting[sig] += by;
}

/* -1: there is no memory. */
static int grow(struct thr *t)
{
	struct more *m = (struct more *)(SHIM_QUEUE_ADDR + t->ordinal * SHIM_QUEUE_SIZE);

	if (raw_failed(raw_mmap(m, SHIM_QUEUE_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return -1;
	for (int i = 0; i < t->pending; i++)
		m->at[i] = *place(t, (uint32_t)i);
	t->queue.first = 0;
	t->queue.more = m;
	for (int i = 0; i < t->pending; i++)
		count(t, m->at[i].si_signo, 1);
	return 0;
}

static void lost(int sig)
{
	note(RLOG_NOTE_UNSUPPORTED, sig, "more signals came at once than could be kept: some were lost");
}

void sig_queue_put(struct thr *t, const siginfo_t *si)
{
	if (unlikely(t->pending >= SIG_QUEUE)) {
		if (!t->queue.more && grow(t)) {
			lost(si->si_signo);
			return;
		}
		if (si->si_signo < FIRST_REAL_TIME && t->queue.more->waiting[si->si_signo])
			return;
		if ((uint32_t)t->pending >= MORE_MAX) {
			lost(si->si_signo);
			return;
		}
	}
	*place(t, (uint32_t)t->pending) = *si;
	count(t, si->si_signo, 1);
	t->pending++;
}

static void shrink(struct thr *t)
{
	struct more *m = t->queue.more;

	t->queue.more = 0;
	t->queue.first = 0;
	raw2(SYS_munmap, m, SHIM_QUEUE_SIZE);
}

/* -1: all are blocked. */
static int first_of(struct thr *t, uint64_t blocked)
{
	int found = -1, lowest = FIRST_REAL_TIME;

	for (int i = 0; i < t->pending; i++) {
		int sig = place(t, (uint32_t)i)->si_signo;

		if (blocked & SIG_BIT(sig))
			continue;
		if (found < 0)
			found = i;
		if (t->pending > SIG_QUEUE)
			break; /* a flood of real-time signals */
		if (sig_is_sync(sig) && sig < lowest) {
			found = i;
			lowest = sig;
		}
	}
	return found;
}

int sig_queue_take(struct thr *t, uint64_t blocked, siginfo_t *si)
{
	int i = first_of(t, blocked);

	if (i < 0)
		return 0;
	*si = *place(t, (uint32_t)i);
	count(t, si->si_signo, -1u);
	for (; i > 0; i--)
		*place(t, (uint32_t)i) = *place(t, (uint32_t)i - 1);
	t->queue.first++;
	if (--t->pending == 0 && unlikely(t->queue.more))
		shrink(t);
	return 1;
}

void sig_queue_drop(struct thr *t)
{
	t->pending = 0;
	if (t->queue.more)
		shrink(t);
}
