/* SPDX-License-Identifier: MIT */
/* syncs.c: see syncs.h. */
#include "racecheck/syncs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rlog/replay.h"
#include "rlog/rlog.h"

#define STACK_SHIFT 26
#define LARGE_STACK_SHIFT 32

void syncs_init(struct syncs *s, struct detect *d)
{
	memset(s, 0, sizeof(*s));
	s->d = d;
	s->nrounds = 1;
	s->rounds = xcalloc(1, sizeof(*s->rounds));
	table_init(&s->objects, sizeof(struct sync_object));
}

void syncs_fini(struct syncs *s)
{
	for (struct sync_object *o = NULL; (o = table_next(&s->objects, o));) {
		vclock_fini(&o->clock);
		vclock_fini(&o->readers);
	}
	table_fini(&s->objects);
	for (uint32_t i = 0; i < s->nrounds; i++)
		vclock_fini(&s->rounds[i].clock);
	free(s->rounds);
	for (uint32_t i = 0; i < s->nthreads; i++) {
		vclock_fini(&s->threads[i].born);
		vclock_fini(&s->threads[i].died);
	}
	free(s->threads);
	memset(s, 0, sizeof(*s));
}

/* ---- objects and threads ---- */

/* Addresses and numbers of files are below 1 << 60. */
static uint64_t key_of(uint64_t space, uint64_t number)
{
	uint64_t key = number ^ (space + 1) << 60;

	return key ? key : 1;
}

/* Valid up to the next call. */
static struct sync_object *object(struct syncs *s, uint64_t space, uint64_t number)
{
	return table_add(&s->objects, key_of(space, number));
}

static struct sync_thread *thread_of(struct syncs *s, uint32_t thread)
{
	if (thread >= s->nthreads) {
		uint32_t n = thread + 1 > 2 * s->nthreads ? thread + 1 : 2 * s->nthreads;

		s->threads = xreallocarray(s->threads, n, sizeof(*s->threads));
		memset(s->threads + s->nthreads, 0, (n - s->nthreads) * sizeof(*s->threads));
		s->nthreads = n;
	}
	return &s->threads[thread];
}

void syncs_acquire(struct syncs *s, uint32_t thread, enum sync_space space, uint64_t number)
{
	detect_acquire(s->d, thread, &object(s, space, number)->clock);
}

void syncs_release(struct syncs *s, uint32_t thread, enum sync_space space, uint64_t number)
{
	detect_release(s->d, thread, &object(s, space, number)->clock);
}

/* ---- locks ---- */

static void lock(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	if (ret == 0 || ret == EOWNERDEAD)
		syncs_acquire(s, thread, SYNC_OBJECT, obj);
}

static void unlock(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	(void)ret;
	syncs_release(s, thread, SYNC_OBJECT, obj);
}

static void lock_plain(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	(void)value;
	lock(s, thread, obj, 0);
}

static void cond_wait(struct syncs *s, uint32_t thread, uint64_t obj, int64_t mutex)
{
	(void)obj;
	thread_of(s, thread)->mutex = (uint64_t)mutex;
	unlock(s, thread, (uint64_t)mutex, 0);
}

/* However the wait has ended, the mutex is locked. */
static void cond_woke(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	uint64_t mutex = thread_of(s, thread)->mutex;

	(void)obj, (void)ret;
	if (mutex)
		lock(s, thread, mutex, 0);
}

static void read_lock(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	lock(s, thread, obj, ret);
}

static void write_lock(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	struct sync_object *o = object(s, SYNC_OBJECT, obj);

	if (ret)
		return;
	o->writer = thread;
	detect_acquire(s->d, thread, &o->clock);
	detect_acquire(s->d, thread, &o->readers);
}

static void rw_unlock(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	struct sync_object *o = object(s, SYNC_OBJECT, obj);

	(void)value;
	detect_release(s->d, thread, o->writer == thread ? &o->clock : &o->readers);
	if (o->writer == thread)
		o->writer = 0;
}

static void sem_wait_(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	if (ret == 0)
		syncs_acquire(s, thread, SYNC_OBJECT, obj);
}

static void destroy(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	struct sync_object *o = object(s, SYNC_OBJECT, obj);

	(void)thread, (void)value;
	vclock_fini(&o->clock);
	vclock_fini(&o->readers);
	o->writer = o->round = 0;
}

/* ---- library locks ---- */

static void lock_library(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	struct sync_thread *t = thread_of(s, thread);

	(void)value;
	if (t->libraries < SYNC_LIBRARY_LOCKS)
		t->library[t->libraries++] = (typeof(t->library[0])){.object = obj};
}

static void unlock_library(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	struct sync_thread *t = thread_of(s, thread);
	unsigned k = t->libraries;

	(void)value;
	while (k && t->library[k - 1].object != obj)
		k--;
	if (!k)
		return;
	if (t->library[k - 1].called)
		syncs_release(s, thread, SYNC_LIBRARY, obj);
	memmove(&t->library[k - 1], &t->library[k], (t->libraries - k) * sizeof(t->library[0]));
	t->libraries--;
}

void syncs_calls_back(struct syncs *s, uint32_t thread)
{
	struct sync_thread *t = thread_of(s, thread);

	for (unsigned k = 0; k < t->libraries; k++) {
		if (!t->library[k].called)
			syncs_acquire(s, thread, SYNC_LIBRARY, t->library[k].object);
		t->library[k].called = true;
	}
}

void syncs_freed(struct syncs *s, uint64_t addr)
{
	struct sync_object *o = table_find(&s->objects, key_of(SYNC_LIBRARY, addr));

	if (o)
		vclock_fini(&o->clock);
}

/* ---- barriers ---- */

static uint32_t new_round(struct syncs *s)
{
	s->rounds = xreallocarray(s->rounds, s->nrounds + 1, sizeof(*s->rounds));
	s->rounds[s->nrounds] = (struct sync_round){0};
	return s->nrounds++;
}

/*
 * All threads of a round have arrived before the first of them leaves, and none arrives at the next round before that.
 */
static void barrier(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	struct sync_object *o = object(s, SYNC_OBJECT, obj);

	(void)value;
	if (!o->round || s->rounds[o->round].over)
		o->round = new_round(s);
	thread_of(s, thread)->round = o->round;
	detect_release(s->d, thread, &s->rounds[o->round].clock);
}

static void barrier_left(struct syncs *s, uint32_t thread, uint64_t obj, int64_t ret)
{
	struct sync_round *r = &s->rounds[thread_of(s, thread)->round];

	(void)obj, (void)ret;
	r->over = true;
	detect_acquire(s->d, thread, &r->clock);
}

/* ---- threads ---- */

static void create(struct syncs *s, uint32_t thread, uint64_t obj, int64_t child)
{
	(void)obj;
	if (child > 0 && child < (int64_t)RLOG_MAX_THREADS)
		detect_release(s->d, thread, &thread_of(s, (uint32_t)child)->born);
}

static void start(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	(void)obj, (void)value;
	detect_acquire(s->d, thread, &thread_of(s, thread)->born);
}

static void end(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value)
{
	(void)obj, (void)value;
	thread_of(s, thread)->dead = true;
	detect_release(s->d, thread, &thread_of(s, thread)->died);
}

/*
 * The thread of this pthread_t, which is in the thread's stack, if the recorder has allocated that; 0: another stack.
 */
static uint32_t whose(uint64_t pthread)
{
	uint64_t at = pthread - SHIM_STACK_ADDR, large = pthread - SHIM_LARGE_STACK_ADDR;

	if (at >> STACK_SHIFT < RLOG_MAX_THREADS)
		return (uint32_t)(at >> STACK_SHIFT);
	return large >> LARGE_STACK_SHIFT < SHIM_LARGE_STACKS ? (uint32_t)(large >> LARGE_STACK_SHIFT) : 0;
}

static void join(struct syncs *s, uint32_t thread, uint64_t pthread, int64_t ret)
{
	uint32_t child = whose(pthread);

	if (ret)
		return;
	if (child) {
		thread_of(s, child)->joined = true;
		detect_acquire(s->d, thread, &thread_of(s, child)->died);
		return;
	}
	/* on a stack of the program's: one of the threads that have ended and that were not joined */
	for (uint32_t i = 1; i < s->nthreads; i++)
		if (s->threads[i].dead && !s->threads[i].joined)
			detect_acquire(s->d, thread, &s->threads[i].died);
}

/* ---- all kinds ---- */

typedef void sync_fn(struct syncs *s, uint32_t thread, uint64_t obj, int64_t value);

static sync_fn *const kinds[RLOG_KIND_LIMIT] = {
	[RLOG_START] = start,		[RLOG_EXIT] = end,
	[RLOG_CREATE] = create,		[RLOG_JOIN] = join,
	[RLOG_LOCK] = lock_plain,	[RLOG_LOCK_RET] = lock,
	[RLOG_UNLOCK] = unlock,		[RLOG_COND_WAIT] = cond_wait,
	[RLOG_COND_WOKE] = cond_woke,	[RLOG_RDLOCK] = read_lock,
	[RLOG_WRLOCK] = write_lock,	[RLOG_RWUNLOCK] = rw_unlock,
	[RLOG_SEM_WAIT] = sem_wait_,	[RLOG_SEM_POST] = unlock,
	[RLOG_BARRIER] = barrier,	[RLOG_BARRIER_LEFT] = barrier_left,
	[RLOG_ONCE] = lock_plain,	[RLOG_ONCE_RUN] = lock_plain,
	[RLOG_ONCE_DONE] = unlock,	[RLOG_SPIN_LOCK] = lock,
	[RLOG_SPIN_UNLOCK] = unlock,	[RLOG_OBJ_DESTROY] = destroy,
	[RLOG_LIB_LOCK] = lock_library, [RLOG_LIB_UNLOCK] = unlock_library,
};

void syncs_event(struct syncs *s, uint32_t thread, unsigned kind, uint64_t object, int64_t value)
{
	if (kind < RLOG_KIND_LIMIT && kinds[kind])
		kinds[kind](s, thread, object, value);
}
