/* SPDX-License-Identifier: MIT */
/*
 * donate.c: replay: a thread has to wait for a lock inside libc, which makes no event. See turn.c for the turn.
 */
#include "record/event/donate.h"
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/store/log.h"

#define TICK_NS 1000000u
#define TICKS 20 /* how often a wait with the turn checks again while no thread runs */

/*
 * A thread that is past its EXIT event needs a lock that another one holds (pthread_kill holds one around its system
 * call). So the others must not wait for its end, except in pthread_join.
 */
static void dying_late(struct thr *t)
{
	uint32_t *word = 0;

	raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word);
	if (!word || G.ctl->dying != (uint64_t)word)
		return;
	t->donate.late_word = word;
	G.ctl->dying = 0;
	raw_futex_wake(word, 0x7fffffff);
}

/* The word may belong to another thread by now, as the number in it shows. */
static int is_late(const uint32_t *word, uint32_t tid)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].donate.late_word == word && (uint32_t)G.thr[i].tid == tid)
			return 1;
	return 0;
}

/*
 * Donation. A slot ends in the middle of an event, where its thread may hold a lock inside libc that the next owner
 * needs. (In the recording, the lock was released before the next owner's event.) The owner then donates its turn to
 * the other threads, one after the other, each up to the beginning of its own next event.
 */
static uint32_t donate_round;
static int donate_moved; /* a recipient has made progress */
static const uint32_t *donate_woken; /* the word by which a recipient last woke a thread */

static void donate_return(struct thr *t, int at_event)
{
	uint32_t to = t->donate.donor;

	donate_moved |= at_event;
	t->donate.donor = 0;
	t->at_event = at_event;
	t->away = !at_event && turn_runs_ahead(t);
	give_turn(to);
	if (!t->away)
		turn_wait(t);
	t->at_event = 0;
}

/* A recipient releases the lock. Its donated turn ends before it takes the next lock. */
static void donate_wake(struct thr *t, const uint32_t *word)
{
	donate_woken = word;
	donate_moved = 1;
	if (t->donate.donor && G.thr[t->donate.donor].donate.word == word)
		donate_return(t, 0);
}

/* A recipient comes to a record. Its donated turn ends at the record of its next event, but not at a second half. */
void donate_end(struct thr *t)
{
	const uint8_t *p = t->log.rd;

	if (p >= t->log.rd_end || *p >= RLOG_KIND_LIMIT || (shim_kinds()[*p].flags & RF_C))
		donate_return(t, 1);
}

static int can_receive(const struct thr *t, uint32_t to, uint32_t round)
{
	const struct thr *b = &G.thr[to];

	return b != t && G.ctl->tid[to] && !b->exited && !b->at_event && !b->donate.donating &&
	       b->donate.mark != round &&
	       (!turn_parallel() || __atomic_load_n(&b->stand.there, __ATOMIC_ACQUIRE) == STANDS_INSIDE);
}

/* The next thread in the order of the slots that may still hold the lock, or 0. */
static uint32_t recipient(const struct thr *t, uint32_t round)
{
	uint64_t end = (uint64_t)G.ctl->slot + 4096;

	for (uint64_t i = G.ctl->slot; i < G.sched->slots && i < end; i++)
		if (can_receive(t, G.sched->slot[i].thread, round))
			return G.sched->slot[i].thread;
	for (uint32_t i = 1; i < G.next_thread; i++)
		if (can_receive(t, i, round))
			return i;
	return 0;
}

static void donate(struct thr *t, uint32_t to, uint32_t round)
{
	G.thr[to].donate.mark = round;
	G.thr[to].donate.donor = t->ordinal;
	t->donate.donating = 1;
	give_turn(to);
	turn_wait(t);
	t->donate.donating = 0;
}

/* Lets each of the other threads run once. 1: one of them has made progress. */
static int donate_around(struct thr *t, const uint32_t *word, uint32_t val)
{
	uint32_t round = ++donate_round, to;

	donate_moved = 0;
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == val && donate_woken != word &&
	       (to = recipient(t, round)) != 0)
		donate(t, to, round);
	return donate_moved;
}

/*
 * Waits until *word is not val: 0, or -EAGAIN or -ETIMEDOUT as from the kernel. A recipient that has to wait gives the
 * turn back; the first donor lets all run again, until none makes progress any more.
 */
static long donate_until(struct thr *t, uint32_t *word, uint32_t val, const void *timeout)
{
	int moved;

	for (;;) {
		donate_woken = 0;
		t->donate.word = word;
		moved = !t->donate.donor && donate_around(t, word, val);
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != val)
			return -11; /* EAGAIN */
		if (donate_woken == word)
			return 0;
		if (!moved && is_late(word, val))
			return raw4(SYS_futex, word, FUTEX_WAIT, val, timeout);
		if (timeout && !moved)
			return -110; /* ETIMEDOUT */
		if (t->donate.donor)
			donate_return(t, 0);
		else if (!moved)
			turn_diverge(t, 0, RLOG_LIB_LOCK, (uint64_t[]){(uint64_t)word}, 1,
				     "waits for a lock inside a library that no thread lets go");
	}
}

static int others_run(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread; i++)
		if (&G.thr[i] != t && G.ctl->tid[i] && !G.thr[i].exited &&
		    !__atomic_load_n(&G.thr[i].stand.there, __ATOMIC_ACQUIRE))
			return 1;
	return 0;
}

/*
 * The same in a parallel replay. The thread that holds the lock may be running, and is waited for. A thread that has
 * the turn also donates it to threads inside an event. No log tells how long timed waits take.
 */
static long wait_parallel(struct thr *t, const long *a)
{
	static const uint64_t tick[2] = {0, TICK_NS};
	uint32_t *word = (uint32_t *)a[0], val = (uint32_t)a[2], to;
	int ticks = a[3] ? TICKS : 0;
	long ret;

	t->donate.word = word;
	for (ret = -110; ret == -110 && ticks < TICKS;) { /* ETIMEDOUT */
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != val)
			return -11; /* EAGAIN */
		if (t->donate.donor) {
			donate_return(t, 0);
		} else if (has_turn(t)) {
			if ((to = recipient(t, ++donate_round)) != 0) {
				donate(t, to, donate_round);
				continue;
			}
			ticks += !others_run(t);
		}
		t->stand.there = STANDS;
		ret = raw4(SYS_futex, word, FUTEX_WAIT | (a[1] & FUTEX_PRIVATE_FLAG), val, tick);
		t->stand.there = 0;
	}
	if (ret == -110) {
		describe_caller(t->caller, G.ctl->text, sizeof(G.ctl->text));
		turn_end(t, REPLAY_UNFIT);
	}
	return ret;
}

long turn_futex(struct thr *t, const long *a)
{
	int op = (int)a[1] & 127, waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
	long ret;

	if (G.mode == SHIM_REPLAY && waits && !sys_readable((const void *)a[0], 4))
		return -14; /* EFAULT */
	if (G.mode == SHIM_REPLAY && t && t->exited && waits)
		dying_late(t);
	if (G.mode == SHIM_REPLAY && t && !t->exited && waits && turn_parallel())
		return wait_parallel(t, a);
	if (G.mode != SHIM_REPLAY || !t || t->exited || G.ctl->owner != t->ordinal)
		return raw6(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!waits) {
		ret = raw6(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET)
			donate_wake(t, (const uint32_t *)a[0]);
		return ret;
	}
	return donate_until(t, (uint32_t *)a[0], (uint32_t)a[2], (const void *)a[3]);
}
