/* SPDX-License-Identifier: MIT */
/*
 * ordering.c: bugs that show in one order of many: each fails natively in fewer than one run in 1,000. What they do besides
 * is what makes the orders many. How to run one: orders.h.
 */
#include "orders.h"

#include <errno.h>
#include <sched.h>

/* ---- order: a thread uses what its creator sets behind the creation ---- */

static int *volatile config;

static void *order_thread(void *arg)
{
	count(10);
	usleep(2000);
	if (!config) /* PART */
		failed = 1;
	return arg;
}

static void order(void)
{
	static int value;
	pthread_t t;

	pthread_create(&t, NULL, order_thread, NULL);
	config = &value; /* BUG: too late */
	count(50);
	pthread_join(t, NULL);
}

/* ---- a wake-up that is lost: the condition is tested without the lock ---- */

static atomic_int ready;

static void *lost_waiter(void *arg)
{
	struct timespec ts;

	count(20);
	if (!ready) { /* BUG: not under the lock */
		pthread_mutex_lock(&lock);
		later(&ts, 200);
		if (pthread_cond_timedwait(&cond, &lock, &ts) == ETIMEDOUT)
			failed = 1;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *lost_waker(void *arg)
{
	count(60);
	ready = 1; /* PART */
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&cond); /* PART */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void lost(void)
{
	both(lost_waiter, lost_waker);
}

/* ---- atomicity: two sections that belong together ---- */

static long balance;

static void *pay(void *arg)
{
	long was;

	count(arg ? 20 : 0);
	pthread_mutex_lock(&lock);
	was = balance; /* PART */
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock); /* BUG: another one may have paid */
	balance = was + 1; /* PART */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void atomicity(void)
{
	both(pay, pay);
	failed = balance != 2;
}

/* ---- use after free: the last one frees, but not the last one to look ---- */

struct object {
	atomic_int refs, alive;
};

static struct object *object;

static void put(struct object *o)
{
	if (atomic_fetch_sub(&o->refs, 1) == 1) {
		o->alive = 0; /* PART */
		count(1);
	}
}

static void *user(void *arg)
{
	struct object *o;

	count(10);
	pthread_mutex_lock(&lock);
	o = object; /* BUG: no reference is taken here ... */
	pthread_mutex_unlock(&lock);
	count(1);
	if (o) {
		if (!o->alive) /* ... but only behind this */
			failed = 1;
		atomic_fetch_add(&o->refs, 1);
		put(o);
	}
	return arg;
}

static void *owner(void *arg)
{
	struct object *o = object;

	count(60);
	pthread_mutex_lock(&lock);
	object = NULL; /* PART */
	pthread_mutex_unlock(&lock);
	put(o);
	return arg;
}

static void use_after_free(void)
{
	static struct object o;

	o.refs = 1;
	o.alive = 1;
	object = &o;
	both(user, owner);
}

/* ---- initialised twice, or seen half ---- */

static struct {
	int a, b;
} *volatile single, storage;

static int *get(void)
{
	if (!single) {
		pthread_mutex_lock(&lock);
		if (!single) {
			single = (void *)&storage; /* BUG: published before it is complete */
			count(1);
			storage.b = 1; /* PART */
		}
		pthread_mutex_unlock(&lock);
	}
	return (int *)&single->b;
}

static void *getter(void *arg)
{
	count(arg ? 30 : 0);
	if (!*get())
		failed = 1;
	return arg;
}

static void double_checked(void)
{
	both(getter, getter);
}

/* ---- ABA: the head is the same again, but not what is behind it ---- */

struct node {
	struct node *next;
	int taken;
};

static struct node nodes[3];
static _Atomic(struct node *) top;

static struct node *pop(int slow)
{
	struct node *n = top, *next;

	do {
		if (!n)
			return NULL;
		next = n->next;
		if (slow)
			count(1);
	} while (!atomic_compare_exchange_strong(&top, &n, next)); /* BUG */
	if (n->taken++)
		failed = 1;
	return n;
}

static void push(struct node *n)
{
	n->taken = 0;
	n->next = top;
	while (!atomic_compare_exchange_strong(&top, &n->next, n))
		;
}

static void *popper(void *arg)
{
	count(3);
	pop(1);
	pop(0);
	return arg;
}

static void *recycler(void *arg)
{
	struct node *a;

	count(30);
	a = pop(0);
	pop(0);
	count(1);
	if (a)
		push(a);
	return arg;
}

static void aba(void)
{
	for (int i = 0; i < 3; i++) {
		nodes[i].next = i < 2 ? &nodes[i + 1] : NULL;
	}
	top = &nodes[0];
	both(popper, recycler);
}

/* ---- a signal for one of two kinds of waiters wakes the other ---- */

static int jobs, stop_wanted;

static void *wait_job(void *arg)
{
	struct timespec ts;

	pthread_mutex_lock(&lock);
	later(&ts, 200);
	while (!jobs && !failed)
		if (pthread_cond_timedwait(&cond, &lock, &ts) == ETIMEDOUT)
			failed = 1;
	jobs--;
	pthread_mutex_unlock(&lock);
	count(100);
	pthread_mutex_lock(&lock);
	stop_wanted = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *wait_stop(void *arg)
{
	usleep(5000);
	pthread_mutex_lock(&lock);
	while (!stop_wanted && !failed)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void missed(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, wait_stop, NULL);
	pthread_create(&t[1], NULL, wait_job, NULL);
	count(20);
	pthread_mutex_lock(&lock);
	jobs++; /* PART */
	pthread_cond_signal(&cond); /* BUG: wakes one, perhaps the one that waits for the stop */
	pthread_mutex_unlock(&lock);
	pthread_join(t[1], NULL);
	pthread_mutex_lock(&lock);
	stop_wanted = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	pthread_join(t[0], NULL);
}

/* ---- deadlock: two locks in two orders ---- */

static void *locks_two(void *arg)
{
	pthread_mutex_t *first = arg ? &other : &lock, *second = arg ? &lock : &other;
	struct timespec ts;

	count(arg ? 200 : 0);
	pthread_mutex_lock(first); /* PART */
	later(&ts, 200);
	if (pthread_mutex_timedlock(second, &ts)) /* BUG */
		failed = 1;
	else
		pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
	return arg;
}

static void deadlock(void)
{
	both(locks_two, locks_two);
}

/* ---- a thread that has not come to its start while the others do a lot ---- */

static atomic_int registered;

static void *registers(void *arg)
{
	count(1);
	registered = 1; /* PART */
	return arg;
}

static void slow_start(void)
{
	pthread_t t;

	pthread_create(&t, NULL, registers, NULL);
	for (int i = 0; i < 40; i++) {
		count(50);
		sched_yield();
	}
	usleep(10000);
	if (!registered) /* BUG: nobody has waited for it */
		failed = 1;
	pthread_join(t, NULL);
}

/* ---- a queue whose length is tested in one section and used in another, by three ---- */

static int length = 3;

static void *consumer(void *arg)
{
	int some;

	count((int)(size_t)arg * 60);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		some = length > 0; /* PART */
		pthread_mutex_unlock(&lock);
		count(1);
		if (!some)
			continue;
		pthread_mutex_lock(&lock);
		if (--length < 0) /* BUG: another one was faster */
			failed = 1;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void check_then_act(void)
{
	both(consumer, consumer);
}

static const struct bug bugs[] = {
	{"order", order}, {"lost", lost}, {"atomicity", atomicity}, {"use_after_free", use_after_free},
	{"double_checked", double_checked}, {"aba", aba}, {"missed", missed}, {"deadlock", deadlock},
	{"slow_start", slow_start}, {"check_then_act", check_then_act},
};

int main(int argc, char **argv)
{
	return run_bug(bugs, sizeof(bugs) / sizeof(bugs[0]), argc, argv);
}
