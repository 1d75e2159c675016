/* SPDX-License-Identifier: MIT */
/*
 * soak_wrong.c: tight races: no call between the accesses that are to meet. Each prints what was lost, so that a replay has to lose
 * the same, and ends with 1 if something was. Run by tests/bench/soak under chaos.
 *
 *   PROGRAM NAME         without NAME: prints all
 */
#include "orders.h"

#include <stdlib.h>

#ifdef __OPTIMIZE__
#define ROUNDS 300 /* more than a stepped computation takes */
#else
#define ROUNDS 60
#endif

static volatile long total;

static void tell(long is, long should)
{
	printf("%ld of %ld\n", is, should);
	failed = is != should;
}

/* ---- a counter ---- */

static void *adds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		total++;
	return arg;
}

static void counter(void)
{
	both(adds, adds);
	tell(total, 2 * ROUNDS);
}

static void counter_of_three(void)
{
	run((void *(*const[])(void *)){adds, adds, adds}, 3);
	tell(total, 3 * ROUNDS);
}

/* Once each, behind different ways there. */
static void *adds_one(void *arg)
{
	count(arg ? 3 : 0);
	work(20);
	total++;
	return arg;
}

static void once_each(void)
{
	both(adds_one, adds_one);
	tell(total, 2);
}

/* ---- a compare-and-swap loop that stores what it has not compared ---- */

static atomic_long value;
static volatile long shadow;

static void *swaps(void *arg)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		long was = atomic_load(&value);

		while (!atomic_compare_exchange_weak(&value, &was, was + 1))
			;
		shadow = shadow + 1; /* BUG */
	}
	return arg;
}

static void cas(void)
{
	both(swaps, swaps);
	tell(shadow, (long)value);
}

/* ---- a lock that tests and then sets ---- */

static volatile int taken;

static void *locks(void *arg)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		while (taken)
			;
		taken = 1; /* BUG */
		total++;
		taken = 0;
	}
	return arg;
}

static void test_then_set(void)
{
	both(locks, locks);
	tell(total, 2 * (ROUNDS / 4));
}

/* ---- ABA ---- */

struct node {
	struct node *next;
};
static _Atomic(struct node *) top;
static struct node node[4];

static struct node *pop(void)
{
	struct node *n = atomic_load(&top);

	while (n && !atomic_compare_exchange_weak(&top, &n, n->next))
		;
	return n;
}

static void push(struct node *n)
{
	n->next = atomic_load(&top);
	while (!atomic_compare_exchange_weak(&top, &n->next, n))
		;
}

static void *pops(void *arg)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		struct node *a = pop(), *b = pop();

		if (a)
			push(a);
		if (b)
			push(b);
	}
	return arg;
}

static void aba(void)
{
	long n = 0;

	for (int i = 0; i < 4; i++)
		push(&node[i]);
	both(pops, pops);
	for (const struct node *p = top; p && n < 9; p = p->next)
		n++;
	tell(n, 4);
}

/* ---- a wake-up that is lost: it waits in vain, for a while ---- */

static atomic_int posted;

static void *waits(void *arg)
{
	struct timespec ts;

	if (!posted) { /* BUG: not under the lock */
		later(&ts, 300);
		pthread_mutex_lock(&lock);
		total = pthread_cond_timedwait(&cond, &lock, &ts) != 0;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *wakes(void *arg)
{
	work(10);
	posted = 1;
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void lost_wakeup(void)
{
	both(waits, wakes);
	tell(total, 0);
}

/* ---- what is made twice ---- */

static int *volatile made;
static atomic_int times;

static void *uses(void *arg)
{
	if (!made) {
		times++;
		made = malloc(sizeof(*made)); /* BUG */
	}
	return arg;
}

static void made_twice(void)
{
	both(uses, uses);
	tell(times, 1);
}

#ifdef _OPENMP
/* ---- OpenMP: they fail natively in each run on two processors ---- */

#define MANY 1000000

static int bins[64];

static void omp_counter(void)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < MANY; i++)
		total++;
	tell(total, MANY);
}

static void omp_bins(void)
{
	long sum = 0;

#pragma omp parallel for num_threads(2)
	for (unsigned i = 0; i < MANY; i++)
		bins[i * 2654435761u >> 26]++; /* BUG */
	for (int i = 0; i < 64; i++)
		sum += bins[i];
	tell(sum, MANY);
}

static void omp_dynamic(void)
{
	long sum = 0;

#pragma omp parallel for num_threads(3) schedule(dynamic, 10)
	for (int i = 0; i < MANY / 10; i++)
		sum += work(2) != 1234; /* BUG */
	tell(sum, MANY / 10);
}

/* In a function that the loop calls, behind a pointer. */
struct list {
	long n, pad[7], last;
};

static __attribute__((noinline)) void append(struct list *l, long v)
{
	l->last = v;
	l->n++; /* BUG */
}

static void omp_list(void)
{
	struct list *l = calloc(1, sizeof(*l));

#pragma omp parallel for num_threads(2)
	for (long i = 0; i < MANY; i++)
		append(l, i);
	tell(l->n, MANY);
}

static void omp_barriers(void)
{
	volatile long a = 0;

#pragma omp parallel num_threads(2)
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 2000; k++)
			a = a + 1; /* BUG */
#pragma omp barrier
	}
	tell(a, 2 * 10 * 2000);
}
#endif

int main(int argc, char **argv)
{
	static const struct bug all[] = {
		{"counter", counter}, {"counter_of_three", counter_of_three}, {"once_each", once_each}, {"cas", cas},
		{"test_then_set", test_then_set}, {"aba", aba}, {"lost_wakeup", lost_wakeup}, {"made_twice", made_twice},
#ifdef _OPENMP
		{"omp_counter", omp_counter}, {"omp_bins", omp_bins}, {"omp_dynamic", omp_dynamic}, {"omp_list", omp_list},
		{"omp_barriers", omp_barriers},
#endif
	};

	return run_bug(all, sizeof(all) / sizeof(all[0]), argc, argv);
}
