/* SPDX-License-Identifier: MIT */
/*
 * lib.c: library functions that hold a lock inside libc: the order between threads is logged.
 *
 * A wrapper takes a lock of the shim around the real call, as soon as a second thread has existed. The call itself runs
 * as the program's code: its system calls are events, and it may call back into the program. A FILE is locked with its
 * own lock (flockfile), so that it excludes what the program locks itself.
 *
 * No signal is delivered between a lock's event and the call: a handler that jumps out (longjmp) would leave the lock
 * taken. A thread that ends inside such a call (cancellation) releases its locks at its end.
 */
#include "record/sync/lib.h"
#include "record/core/real.h"
#include "record/core/scrub.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/wait.h"

#define SOON_NS 500000000l

struct lib_lock lib_locks[LIB_LOCKS];

static int lock_try(struct lib_lock *l)
{
	uint32_t zero = 0;

	return __atomic_compare_exchange_n(&l->word, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void lock_wait(struct lib_lock *l)
{
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
		raw_futex_wait(&l->word, 2);
}

static void lock_release(struct lib_lock *l)
{
	l->owner = 0;
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		raw_futex_wake(&l->word, 1);
}

static _Noreturn void held_by_another(struct thr *t, const void *obj)
{
	uint64_t a = (uint64_t)obj;
	struct rlog_rec r;

	turn_diverge(t, turn_peek(t, &r) ? &r : 0, RLOG_LIB_LOCK, &a, 1,
		     "the library lock is held by another thread at this point of the replay");
}

static void lock_take(struct thr *t, struct lib_lock *l)
{
	if (l->owner != t->ordinal) {
		if (!lock_try(l)) {
			if (G.mode == SHIM_REPLAY)
				held_by_another(t, l);
			wait_of(t, l, WAIT_LIBC);
			wait_is_seen(t);
			wait_begin(t);
			lock_wait(l);
			wait_end(t);
		}
		l->owner = t->ordinal;
	}
	l->depth++;
}

static void file_take(struct thr *t, FILE *f)
{
	if (REAL(ftrylockfile)(f) == 0)
		return;
	wait_of(t, f, WAIT_LIBC);
	wait_is_seen(t);
	wait_begin(t);
	REAL(flockfile)(f);
	wait_end(t);
}

/*
 * Nested calls, such as dl_iterate_phdr in a callback of another, or a stream that writes to another one: locks beyond
 * LIB_HELD are noted in an area of their own.
 */
#define MORE_MAX ((int)(SHIM_HELD_SIZE / sizeof(struct lib_held)))

static struct lib_held *held_at(struct thr *t, int i)
{
	return i < LIB_HELD ? &t->held[i] : &t->held_more[i - LIB_HELD];
}

static int has_room(struct thr *t)
{
	struct lib_held *more = (struct lib_held *)(SHIM_HELD_ADDR + t->ordinal * SHIM_HELD_SIZE);

	if (likely(t->nheld < LIB_HELD))
		return 1;
	if (!t->held_more && !raw_failed(raw_mmap(more, SHIM_HELD_SIZE, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		t->held_more = more;
	return t->held_more && t->nheld - LIB_HELD < MORE_MAX;
}

static void hold(struct thr *t, struct lib_lock *l, FILE *f)
{
	if (!has_room(t)) {
		t->unheld++;
		return;
	}
	held_at(t, t->nheld)->lock = l;
	held_at(t, t->nheld)->file = f;
	t->nheld++;
}

static void drop(struct thr *t, const struct lib_lock *l, const FILE *f)
{
	int i = t->nheld;

	while (--i >= 0 && (held_at(t, i)->lock != l || held_at(t, i)->file != f))
		;
	if (i < 0 || t->unheld) { /* the innermost lock, for which there was no memory */
		t->unheld -= t->unheld > 0;
		return;
	}
	for (t->nheld--; i < t->nheld; i++)
		*held_at(t, i) = *held_at(t, i + 1);
}

static void take_turn(struct thr *t, const void *obj)
{
	wait_is_shown(t, obj, WAIT_LIBC, 0);
	ev(t, RLOG_LIB_LOCK, obj, 0, 0);
	wait_was_shown(t);
}

/* The event of a lock or of a FILE, with the lock taken after it. */
static void acquire(struct thr *t, struct lib_lock *l, FILE *f)
{
	const void *obj = f ? (void *)f : (void *)l;

	if (G.mode == SHIM_REPLAY)
		take_turn(t, obj);
	if (f)
		file_take(t, f);
	else
		lock_take(t, l);
	if (G.mode == SHIM_RECORD)
		ev(t, RLOG_LIB_LOCK, obj, 0, 0);
	ev_done(t);
}

static void release(struct thr *t, struct lib_lock *l, FILE *f)
{
	ev(t, RLOG_LIB_UNLOCK, f ? (void *)f : (void *)l, 0, 0);
	if (f)
		REAL(funlockfile)(f);
	else if (l->depth && --l->depth == 0)
		lock_release(l);
	ev_done(t);
}

int lib_enter_slow(struct lib_lock *l)
{
	struct thr *t = shim_enter();

	if (!t)
		return 0;
	t->caller = (uint64_t)__builtin_return_address(0);
	acquire(t, l, 0);
	hold(t, l, 0);
	shim_leave_quiet(t);
	return 1;
}

void lib_leave_slow(struct lib_lock *l)
{
	struct thr *t = shim_enter();

	if (!t) { /* recording has failed meanwhile: other threads may still wait */
		if (l->depth && --l->depth == 0)
			lock_release(l);
		return;
	}
	drop(t, l, 0);
	release(t, l, 0);
	shim_leave(t);
}

int lib_quiet_enter(unsigned id)
{
	struct thr *t = shim_enter();

	if (!t)
		return 0;
	acquire(t, &lib_locks[id], 0);
	shim_leave_quiet(t);
	return 1;
}

void lib_quiet_leave(unsigned id)
{
	struct lib_lock *l = &lib_locks[id];
	struct thr *t = shim_enter();

	if (t) {
		release(t, l, 0);
		shim_scrub();
		shim_leave_quiet(t);
	} else if (l->depth && --l->depth == 0) {
		lock_release(l);
	}
}

void lib_thread_lock(struct thr *t, unsigned id)
{
	acquire(t, &lib_locks[id], 0);
}

static int lock_wait_for(struct lib_lock *l, long ns)
{
	long limit[2] = {0, ns};

	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
		if (raw4(SYS_futex, &l->word, FUTEX_WAIT, 2, limit) == -110 /* ETIMEDOUT */)
			return 0;
	return 1;
}

static int rec_lock_soon(struct thr *t, struct lib_lock *l)
{
	int got = l->owner == t->ordinal || lock_try(l);

	if (!got) {
		wait_begin(t);
		got = lock_wait_for(l, SOON_NS);
		wait_end(t);
	}
	if (!got)
		return 0;
	l->owner = t->ordinal;
	l->depth++;
	ev(t, RLOG_LIB_LOCK, l, 0, 0);
	return 1;
}

int lib_thread_lock_soon(struct thr *t, unsigned id)
{
	struct rlog_rec r;

	if (G.mode != SHIM_REPLAY)
		return rec_lock_soon(t, &lib_locks[id]);
	if (!turn_peek(t, &r) || r.kind != RLOG_LIB_LOCK)
		return 0;
	acquire(t, &lib_locks[id], 0);
	return 1;
}

void lib_thread_unlock(struct thr *t, unsigned id)
{
	release(t, &lib_locks[id], 0);
}

int lib_file_enter_slow(FILE *f)
{
	struct thr *t;

	if (!f || (f->_flags & LIB_FILE_USER_LOCK) || !(t = shim_enter()))
		return 0;
	t->caller = (uint64_t)__builtin_return_address(0);
	acquire(t, 0, f);
	hold(t, 0, f);
	shim_leave_quiet(t);
	return 1;
}

void lib_file_leave_slow(FILE *f)
{
	struct thr *t = shim_enter();

	if (!t) {
		REAL(funlockfile)(f);
		return;
	}
	drop(t, 0, f);
	release(t, 0, f);
	shim_leave(t);
}

/* A FILE's lock that the program takes itself orders its threads (daemon/racecheck); a library lock does not. */
static void tell_file(enum rlog_kind kind, const FILE *f)
{
	if (unlikely(shim_report != 0))
		shim_tell(REPORT_SYNC, kind, (uint64_t)f, 0);
}

/* The program's own lock of a FILE: it is not released when the thread ends, just as without the recorder. */
void lib_file_lock(FILE *f)
{
	struct thr *t;

	if (!G.mt || !(t = shim_enter())) {
		REAL(flockfile)(f);
		return;
	}
	t->caller = (uint64_t)__builtin_return_address(0);
	acquire(t, 0, f);
	tell_file(RLOG_LOCK, f);
	shim_leave(t);
}

void lib_file_unlock(FILE *f)
{
	struct thr *t;

	if (!G.mt || !(t = shim_enter())) {
		REAL(funlockfile)(f);
		return;
	}
	tell_file(RLOG_UNLOCK, f);
	release(t, 0, f);
	shim_leave(t);
}

int lib_file_trylock(FILE *f)
{
	struct thr *t;
	int64_t ret = 0;

	if (!G.mt || !(t = shim_enter()))
		return REAL(ftrylockfile)(f);
	t->caller = (uint64_t)__builtin_return_address(0);
	if (G.mode != SHIM_REPLAY) {
		ret = REAL(ftrylockfile)(f);
		ev(t, RLOG_LOCK_RET, f, (uint64_t)ret, 0);
	} else {
		ret = ev_result(t, RLOG_LOCK_RET, f, 0);
		if (ret == 0)
			REAL(flockfile)(f);
		ev_done(t);
	}
	shim_leave(t);
	return (int)ret;
}

void lib_thread_end(struct thr *t)
{
	while (t->nheld > 0) {
		struct lib_held h = *held_at(t, --t->nheld);

		release(t, h.lock, h.file);
	}
	if (t->held_more)
		raw2(SYS_munmap, t->held_more, SHIM_HELD_SIZE);
	t->held_more = 0;
}

/* Only the forking thread lives on in the child; libc renews the locks of FILEs. */
void lib_fork_child(uint32_t was, struct thr *now)
{
	for (unsigned i = 0; i < LIB_LOCKS; i++) {
		struct lib_lock *l = &lib_locks[i];

		if (l->owner == was && was) {
			l->owner = now->ordinal;
			l->word = 1;
		} else {
			*l = (struct lib_lock){0};
		}
	}
}
