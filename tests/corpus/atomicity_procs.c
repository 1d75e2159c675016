/* SPDX-License-Identifier: MIT */
/*
 * atomicity_procs.c: an atomicity violation. A client looks a stored procedure up in one critical section
 * and runs it in the next; between the two another client drops it. Happens within some thousand calls.
 *
 * EXPECT-EXPR: procs[2].body != 0
 * EXPECT-LINE: BUG: may be in use
 * EXPECT-FUNC: proc_drop
 * EXPECT-EXIT: 139
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROCS 4
#define CALLS 2000000

struct body {
	unsigned ops[16];
	unsigned runs;
};

struct proc {
	char name[16];
	struct body *body;
	unsigned created;
};

static struct body bodies[PROCS];
static struct proc procs[PROCS] = {
	{"sp_0", &bodies[0], 1}, {"sp_1", &bodies[1], 1}, {"sp_2", &bodies[2], 1}, {"sp_3", &bodies[3], 1},
};
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static unsigned long result;

static unsigned parse(unsigned seed)
{
	for (unsigned i = 0; i < 400; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

/* 0: no such procedure */
static struct proc *proc_find(unsigned n)
{
	struct proc *p;

	pthread_mutex_lock(&cache);
	p = procs[n].body ? &procs[n] : NULL;
	pthread_mutex_unlock(&cache);
	return p;
}

static __attribute__((noinline)) void proc_run(struct proc *p, unsigned arg)
{
	pthread_mutex_lock(&cache);
	result += p->body->ops[arg % 16];
	p->body->runs++;
	pthread_mutex_unlock(&cache);
}

static __attribute__((noinline)) void proc_drop(struct proc *p)
{
	pthread_mutex_lock(&cache);
	p->body = NULL; /* BUG: may be in use */
	pthread_mutex_unlock(&cache);
}

static __attribute__((noinline)) void proc_create(struct proc *p, struct body *body)
{
	pthread_mutex_lock(&cache);
	p->body = body;
	p->created++;
	pthread_mutex_unlock(&cache);
}

static void *caller(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;

	for (unsigned i = 0; i < CALLS; i++) {
		struct proc *p = proc_find(2);

		seed = parse(seed);
		if (p)
			proc_run(p, seed);
	}
	return NULL;
}

static void *dropper(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;

	for (unsigned i = 0; i < CALLS; i++) {
		for (unsigned j = 0; j < 20; j++)
			seed = parse(seed);
		proc_drop(&procs[2]);
		seed = parse(seed);
		proc_create(&procs[2], &bodies[2]);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, caller, (void *)1);
	pthread_create(&b, NULL, dropper, (void *)2);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("survived, result %lu\n", result);
	return 0;
}
