/* SPDX-License-Identifier: MIT */
/*
 * orders.c: more bugs that show in one order of many, beside those of ordering.c: hangs, and races with no call of a library
 * in between. Each fails natively in fewer than one run in 1,000. How to run one: orders.h.
 */
#include "orders.h"

#include <signal.h>

/* ---- lost_wait: a wake-up is lost, and nobody comes again: it hangs ---- */

static atomic_int posted;

static void *waits(void *arg)
{
	count(15);
	if (!posted) { /* BUG: not under the lock */
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *posts(void *arg)
{
	count(80);
	posted = 1; /* PART */
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&cond); /* PART */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void lost_wait(void)
{
	both(waits, posts);
}

/* ---- abba: two locks in two orders, far inside of what two threads do: it hangs ---- */

static int from, to;

static void *moves(void *arg)
{
	pthread_mutex_t *first = arg ? &other : &lock, *second = arg ? &lock : &other;

	count(arg ? 150 : 10);
	pthread_mutex_lock(first); /* PART */
	work(20);
	pthread_mutex_lock(second); /* BUG */
	from--;
	to++;
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
	count(10);
	return arg;
}

static void abba(void)
{
	both(moves, moves);
}

/* ---- torn: a count without a lock ---- */

static volatile int hits;

static void *hit(void *arg)
{
	int x;

	count(arg ? 40 : 5);
	work(50);
	x = hits; /* BUG */
	x += (int)(work(3) & 1) | 1;
	hits = x > 2 ? 2 : x; /* PART */
	work(50);
	count(5);
	return arg;
}

static void torn(void)
{
	both(hit, hit);
	failed = hits != 2;
}

/* ---- claimed: two look whether a place is free, and both take it ---- */

static volatile int place;

static void *claims(void *arg)
{
	int me = 1 + (int)(size_t)arg;

	count(arg ? 60 : 8);
	if (!place) { /* BUG */
		place = me; /* PART */
		work(10);
		if (place != me)
			failed = 1;
	}
	count(8);
	return arg;
}

static void claimed(void)
{
	both(claims, claims);
}

/* ---- published: seen before it is complete, and no call in between ---- */

struct message {
	int length, check;
};

static struct message *volatile mailbox;

static void *sends(void *arg)
{
	static struct message m;

	count(70);
	mailbox = &m; /* BUG: too early */
	m.length = (int)(work(5) | 1);
	m.check = ~m.length; /* PART */
	count(3);
	return arg;
}

static void *looks(void *arg)
{
	for (int i = 0; i < 4; i++) {
		count(3);
		if (mailbox && mailbox->check != ~mailbox->length)
			failed = 1;
	}
	return arg;
}

static void published(void)
{
	both(looks, sends);
}

/* ---- torn_down: what a thread still uses is destroyed when it has said that it is ready ---- */

static struct pool {
	atomic_int ready;
	int valid;
} pool;

static void *pool_thread(void *arg)
{
	count(20);
	pool.ready = 1;
	count(1);
	if (!pool.valid) /* BUG: it may be gone */
		failed = 1;
	return arg;
}

static void torn_down(void)
{
	pthread_t t;

	pool.valid = 1;
	pthread_create(&t, NULL, pool_thread, NULL);
	while (!pool.ready)
		usleep(500);
	count(30);
	pool.valid = 0; /* PART */
	pthread_join(t, NULL);
}

/* ---- refs: the last two leave at the same time, and nobody has been the last ---- */

static volatile int refs = 2, freed;

static void *leaves(void *arg)
{
	int left;

	count(arg ? 90 : 10);
	left = refs - 1; /* BUG: not atomic */
	refs = left; /* PART */
	if (left == 0)
		freed++;
	count(4);
	return arg;
}

static void references(void)
{
	both(leaves, leaves);
	failed = freed != 1;
}

/* ---- ring: the index moves before the element is there ---- */

static volatile int ring[8];
static volatile unsigned head;

static void *produces(void *arg)
{
	for (int i = 0; i < 6; i++) {
		unsigned h = head;

		count(10);
		head = h + 1; /* BUG */
		ring[h % 8] = 1000 + i; /* PART */
	}
	return arg;
}

static void *consumes(void *arg)
{
	count(5);
	for (unsigned tail = 0, tries = 0; tail < 3 && tries < 40; tries++) {
		if (tail < head) {
			if (!ring[tail % 8])
				failed = 1;
			tail++;
		}
		count(1);
	}
	return arg;
}

static void ring_buffer(void)
{
	both(produces, consumes);
}

/* ---- upgrade: what was read under a lock for readers is written under one for writers ---- */

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int version, updates;

static void *upgrades(void *arg)
{
	int was;

	count(arg ? 45 : 0);
	pthread_rwlock_rdlock(&rw);
	was = version; /* PART */
	pthread_rwlock_unlock(&rw);
	pthread_rwlock_wrlock(&rw); /* BUG: another one may have been here */
	version = was + 1; /* PART */
	updates++;
	pthread_rwlock_unlock(&rw);
	count(20);
	return arg;
}

static void upgrade(void)
{
	both(upgrades, upgrades);
	failed = version != updates;
}

/* ---- late: a signal for a thread that has not begun to wait for it: it hangs ---- */

static volatile sig_atomic_t poked;

static void on_poke(int sig)
{
	poked = sig; /* PART */
}

static void *naps(void *arg)
{
	count(6);
	if (!poked) /* BUG: the signal may come here */
		pause();
	return arg;
}

static void late_signal(void)
{
	pthread_t t;

	signal(SIGUSR1, on_poke);
	pthread_create(&t, NULL, naps, NULL);
	usleep(3000);
	count(12);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
}

/* ---- shutdown: a timer's thread is given some time to end, not waited for ---- */

static atomic_int stopping;
static volatile int open_file = 1;

static void *ticks(void *arg)
{
	for (int i = 0; i < 20 && !stopping; i++) {
		count(2);
		if (!open_file)
			failed = 1;
		usleep(200);
	}
	return arg;
}

static void shut_down(void)
{
	pthread_t t;

	pthread_create(&t, NULL, ticks, NULL);
	count(40);
	usleep(1000);
	stopping = 1;
	usleep(20000); /* BUG: long enough? */
	open_file = 0; /* PART */
	pthread_join(t, NULL);
}

/* ---- three: what one does in two steps, a second passes on, and a third sees half of it ---- */

static int first_half, second_half, passed_on;

static void *in_two_steps(void *arg)
{
	count(30);
	pthread_mutex_lock(&lock);
	first_half = 1; /* PART */
	pthread_mutex_unlock(&lock); /* BUG */
	pthread_mutex_lock(&lock);
	second_half = 1; /* PART */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *passes_on(void *arg)
{
	for (int i = 0; i < 8; i++) {
		count(4);
		pthread_mutex_lock(&lock);
		if (first_half)
			passed_on = 1;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *sees(void *arg)
{
	for (int i = 0; i < 6; i++) {
		count(6);
		pthread_mutex_lock(&lock);
		if (passed_on && !second_half)
			failed = 1;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void three(void)
{
	run((void *(*const[])(void *)){passes_on, sees, in_two_steps}, 3);
}

/* ---- spins: a lock of the program's own that is tested, and then set ---- */

static volatile int busy, inside;

static void *spins(void *arg)
{
	count(arg ? 70 : 6);
	while (busy)
		;
	busy = 1; /* BUG */
	inside++; /* PART */
	work(30);
	if (inside != 1)
		failed = 1;
	inside--;
	busy = 0;
	count(6);
	return arg;
}

static void own_lock(void)
{
	both(spins, spins);
}

static const struct bug bugs[] = {
	{"lost_wait", lost_wait}, {"abba", abba}, {"torn", torn}, {"claimed", claimed}, {"published", published},
	{"torn_down", torn_down}, {"references", references}, {"ring_buffer", ring_buffer}, {"upgrade", upgrade},
	{"late_signal", late_signal}, {"shut_down", shut_down}, {"three", three}, {"own_lock", own_lock},
};

int main(int argc, char **argv)
{
	return run_bug(bugs, sizeof(bugs) / sizeof(bugs[0]), argc, argv);
}
