/* SPDX-License-Identifier: MIT */
/* test_syncs.c: which events order threads, on made-up streams of events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "made_up.h"
#include "racecheck/kernel.h"
#include "racecheck/syncs.h"
#include "rlog/replay.h"
#include "rlog/rlog.h"

#define A 0x7000
#define B 0x7100
#define X 0x1000

struct world {
	struct made_up m;
	struct syncs s;
	struct kernel k;
	unsigned seen; /* races so far */
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	detect_init(&w->m.d, &made_up_ops, &w->m);
	syncs_init(&w->s, &w->m.d);
	kernel_init(&w->k, &w->s, &w->m.d);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	kernel_fini(&w->k);
	syncs_fini(&w->s);
	detect_fini(&w->m.d);
	free(w);
	return 0;
}

static void on(struct world *w, uint32_t thread, unsigned kind, uint64_t object, int64_t value)
{
	syncs_event(&w->s, thread, kind, object, value);
}

/* What a thread does, in memory of its own; does another one know of it by now? To be asked once for each. */
static uint64_t fresh = X;
static uint64_t did(struct world *w, uint32_t thread)
{
	fresh += 64;
	writes(&w->m, thread, fresh, 8, 1);
	return fresh;
}

static bool knows(struct world *w, uint32_t thread, uint64_t what)
{
	unsigned races = w->m.races;

	reads(&w->m, thread, what, 8, 2);
	return w->m.races == races;
}

static void mutexes(void **state)
{
	struct world *w = *state;
	uint64_t a;

	on(w, 1, RLOG_LOCK, A, 0);
	a = did(w, 1);
	on(w, 1, RLOG_UNLOCK, A, 0);
	on(w, 2, RLOG_LOCK, B, 0);
	assert_false(knows(w, 2, a));
	on(w, 3, RLOG_LOCK_RET, A, EBUSY);
	assert_false(knows(w, 3, a));
	on(w, 4, RLOG_LOCK_RET, A, 0);
	assert_true(knows(w, 4, a));
	on(w, 5, RLOG_LOCK_RET, A, EOWNERDEAD);
	assert_true(knows(w, 5, a));
	/* locks of the recorder order nothing */
	a = did(w, 1);
	on(w, 1, RLOG_LIB_UNLOCK, A, 0);
	on(w, 6, RLOG_LIB_LOCK, A, 0);
	assert_false(knows(w, 6, a));
}

static void conditions(void **state)
{
	struct world *w = *state;
	uint64_t a, b;

	on(w, 1, RLOG_LOCK, A, 0);
	a = did(w, 1);
	on(w, 1, RLOG_COND_WAIT, B, A);
	on(w, 2, RLOG_LOCK, A, 0);
	assert_true(knows(w, 2, a));
	b = did(w, 2);
	on(w, 2, RLOG_COND_SIGNAL, B, 0);
	on(w, 2, RLOG_UNLOCK, A, 0);
	on(w, 1, RLOG_COND_WOKE, 0, ETIMEDOUT);
	assert_true(knows(w, 1, b));
	/* a signal by itself tells nothing */
	a = did(w, 3);
	on(w, 3, RLOG_COND_BROADCAST, B, 0);
	on(w, 4, RLOG_LOCK, A, 0);
	assert_false(knows(w, 4, a));
}

static void rwlocks(void **state)
{
	struct world *w = *state;
	uint64_t a, b, c;

	on(w, 1, RLOG_WRLOCK, A, 0);
	a = did(w, 1);
	on(w, 1, RLOG_RWUNLOCK, A, 0);
	on(w, 2, RLOG_RDLOCK, A, 0);
	assert_true(knows(w, 2, a));
	b = did(w, 2);
	on(w, 2, RLOG_RWUNLOCK, A, 0);
	/* a reader does not know of other readers, a writer does */
	on(w, 3, RLOG_RDLOCK, A, 0);
	assert_false(knows(w, 3, b));
	on(w, 3, RLOG_RWUNLOCK, A, 0);
	c = did(w, 5);
	on(w, 4, RLOG_WRLOCK, A, EBUSY);
	assert_false(knows(w, 4, b));
	on(w, 6, RLOG_WRLOCK, A, 0);
	assert_true(knows(w, 6, b));
	assert_false(knows(w, 6, c));
}

static void semaphores(void **state)
{
	struct world *w = *state;
	uint64_t a = did(w, 1), b;

	on(w, 1, RLOG_SEM_POST, A, 0);
	b = did(w, 1);
	on(w, 2, RLOG_SEM_WAIT, A, -EAGAIN);
	assert_false(knows(w, 2, a));
	on(w, 3, RLOG_SEM_WAIT, A, 0);
	assert_true(knows(w, 3, a));
	assert_false(knows(w, 3, b));
}

static void barriers(void **state)
{
	struct world *w = *state;
	uint64_t a = did(w, 1), b = did(w, 2), c;

	on(w, 1, RLOG_BARRIER, A, 0);
	on(w, 2, RLOG_BARRIER, A, 0);
	on(w, 2, RLOG_BARRIER_LEFT, 0, -1);
	assert_true(knows(w, 2, a));
	/* the next round begins before all have left this one */
	c = did(w, 2);
	on(w, 2, RLOG_BARRIER, A, 0);
	on(w, 1, RLOG_BARRIER_LEFT, 0, 0);
	assert_true(knows(w, 1, b));
	assert_false(knows(w, 1, c));
	on(w, 1, RLOG_BARRIER, A, 0);
	on(w, 1, RLOG_BARRIER_LEFT, 0, 0);
	assert_true(knows(w, 1, c));
}

static void threads(void **state)
{
	struct world *w = *state;
	uint64_t a = did(w, 1), b, c;

	on(w, 1, RLOG_CREATE, 0, 2);
	b = did(w, 1);
	on(w, 2, RLOG_START, 0, 0);
	assert_true(knows(w, 2, a));
	assert_false(knows(w, 2, b));
	c = did(w, 2);
	on(w, 2, RLOG_EXIT, 0, 0);
	on(w, 1, RLOG_JOIN, SHIM_STACK_ADDR + (3ull << 26) - 4096, EBUSY);
	assert_false(knows(w, 1, c));
	c = did(w, 3);
	on(w, 3, RLOG_EXIT, 0, 0);
	on(w, 1, RLOG_JOIN, SHIM_STACK_ADDR + (3ull << 26) + 4096, 0);
	assert_true(knows(w, 1, c));
	/* on a stack of the program's */
	c = did(w, 4);
	on(w, 4, RLOG_EXIT, 0, 0);
	on(w, 5, RLOG_JOIN, 0x555555550000, 0);
	assert_true(knows(w, 5, c));
}

static void onces(void **state)
{
	struct world *w = *state;
	uint64_t a;

	on(w, 1, RLOG_ONCE_RUN, A, 0);
	a = did(w, 1);
	on(w, 1, RLOG_ONCE_DONE, A, 0);
	on(w, 2, RLOG_ONCE, A, 0);
	assert_true(knows(w, 2, a));
	/* destroyed: another object may be there */
	a = did(w, 1);
	on(w, 1, RLOG_UNLOCK, B, 0);
	on(w, 1, RLOG_OBJ_DESTROY, B, 0);
	on(w, 3, RLOG_LOCK, B, 0);
	assert_false(knows(w, 3, a));
}

static struct rlog_rec call(uint64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	return (struct rlog_rec){.kind = RLOG_SYS, .nops = 5, .op = {nr, a, b, c}};
}

static void does(struct world *w, uint32_t thread, struct rlog_rec rec, int64_t ret, const void *out, uint64_t len)
{
	struct rlog_rec result = {
		.kind = RLOG_SYSRET, .nops = 1, .op = {(uint64_t)ret}, .payload = out, .payload_len = len};

	kernel_begin(&w->k, thread, &rec);
	kernel_end(&w->k, thread, &rec, &result);
}

static void pipes(void **state)
{
	static const uint8_t fds[9] = {8, 10, 0, 0, 0, 11, 0, 0, 0};
	struct world *w = *state;
	uint64_t a;

	does(w, 1, call(SYS_pipe2, 0x9000, 0, 0), 0, fds, sizeof(fds));
	does(w, 1, call(SYS_dup, 11, 0, 0), 20, NULL, 0);
	a = did(w, 1);
	does(w, 1, call(SYS_write, 20, 0x9000, 1), 1, NULL, 0);
	does(w, 2, call(SYS_read, 12, 0x9000, 1), 1, NULL, 0);
	assert_false(knows(w, 2, a));
	does(w, 8, call(SYS_read, 10, 0x9000, 1), -EAGAIN, NULL, 0);
	assert_false(knows(w, 8, a));
	does(w, 3, call(SYS_read, 10, 0x9000, 1), 1, NULL, 0);
	assert_true(knows(w, 3, a));
	/* a signal, and a wake-up */
	a = did(w, 1);
	does(w, 1, call(SYS_tgkill, 100, 101, 10), 0, NULL, 0);
	kernel_signal(&w->k, 4, 12);
	assert_false(knows(w, 4, a));
	kernel_signal(&w->k, 5, 10);
	assert_true(knows(w, 5, a));
	a = did(w, 1);
	does(w, 1, call(SYS_futex, A, 1 | 128, 1), 1, NULL, 0);
	does(w, 6, call(SYS_futex, A, 0 | 128, 7), 0, NULL, 0);
	assert_true(knows(w, 6, a));
	/* memory that is mapped anew */
	a = did(w, 1);
	does(w, 7, call(SYS_mmap, 0, 4096, 3), (int64_t)(a & ~4095ull), NULL, 0);
	assert_true(knows(w, 7, a));
}

static void library_locks(void **state)
{
	struct world *w = *state;
	uint64_t a = did(w, 1), b;

	on(w, 1, RLOG_LIB_LOCK, A, 0);
	on(w, 1, RLOG_LIB_LOCK, B, 0);
	on(w, 1, RLOG_LIB_UNLOCK, B, 0);
	syncs_calls_back(&w->s, 1);
	on(w, 1, RLOG_LIB_UNLOCK, A, 0);
	on(w, 2, RLOG_LIB_LOCK, A, 0);
	assert_false(knows(w, 2, a));
	a = did(w, 1);
	on(w, 1, RLOG_LIB_LOCK, B, 0);
	on(w, 1, RLOG_LIB_LOCK, A, 0);
	syncs_calls_back(&w->s, 1);
	on(w, 1, RLOG_LIB_UNLOCK, A, 0);
	b = did(w, 1);
	on(w, 3, RLOG_LIB_LOCK, A, 0);
	syncs_calls_back(&w->s, 3);
	assert_true(knows(w, 3, a));
	assert_false(knows(w, 3, b));
	on(w, 4, RLOG_LIB_LOCK, B, 0);
	syncs_calls_back(&w->s, 4);
	assert_false(knows(w, 4, a)); /* it is not unlocked yet */
	syncs_freed(&w->s, A);
	a = did(w, 1);
	on(w, 5, RLOG_LIB_LOCK, A, 0);
	syncs_calls_back(&w->s, 5);
	assert_false(knows(w, 5, a));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(mutexes), CASE(conditions), CASE(rwlocks), CASE(semaphores),    CASE(barriers),
		CASE(threads), CASE(onces),	 CASE(pipes),	CASE(library_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
