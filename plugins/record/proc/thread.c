/* SPDX-License-Identifier: MIT */
/*
 * thread.c: create, exit.
 *
 * A thread gets its ordinal, stack and heap arena from its creator, so that they are the same in a replay. Its EXIT
 * event must come after all destructors of the program's thread-specific data: the destructor of a key of the
 * recorder's asks for one more round until the last one, in which it makes the event. After EXIT, a thread runs without
 * turns. With glibc's heap (--malloc system), or an allocator of the program's, EXIT is made at the thread's exit(2)
 * instead: see exit_destructor.
 */
#include "record/proc/thread.h"
#include "record/chaos/interrupts.h"
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/scrub.h"
#include "record/core/state.h"
#include "record/event/arm.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/sched/cancel.h"
#include "record/sched/gil.h"
#include "record/sched/own_locks.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/store/log.h"
#include "record/sync/heap.h"
#include "record/sync/lib.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <unwind.h>

#define STACK_SLOT (1ull << 26)
#define LARGE_SLOT (1ull << 32)
#define TLS_END 65536ull /* of a slot; older recorders had their signal stacks there */

static pthread_key_t exit_key;

struct thr *thread_slot(uint32_t ordinal)
{
	return &G.thr[ordinal];
}

void thread_clear_word(uint32_t *word)
{
	if (unlikely(G.group) && G.mode == SHIM_RECORD)
		pages_touch(word, sizeof(*word), 1);
	raw6(SYS_futex, (long)word, FUTEX_WAKE_OP, 0x7fffffff, 0, (long)word,
	     FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0));
}

int thread_frees_in_order(void)
{
	return G.system_heap || thread_has_allocator();
}

void thread_exit_event(struct thr *t)
{
	t->depth = 1;
	t->selector = 0;
	lib_thread_end(t);
	heap_thread_end(t);
	log_mark(t);
	ev(t, RLOG_EXIT, 0, 0, 0);
	if (t->ctid) { /* before other threads go on, and not some time later by the kernel */
		raw1(SYS_set_tid_address, 0);
		thread_clear_word(t->ctid);
	}
	if (G.mode == SHIM_RECORD && thread_frees_in_order())
		REAL(sem_post)(&t->ended);
	if (G.mode == SHIM_REPLAY)
		turn_exit(t);
	else if (G.serial)
		gil_leave(t);
	else
		cs_exit(t);
	sig_queue_drop(t); /* they would be delivered after its end */
	t->exited = 1; /* depth stays 1: what libc still does here is not the program's code */
}

static void exit_destructor(void *p)
{
	struct thr *t = p;

	if (t != self || t->depth || !G.mode)
		return;
	if (++t->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		REAL(pthread_setspecific)(exit_key, t);
		return;
	}
	/*
	 * With glibc's heap, libc then returns the blocks that the thread has cached to the arenas; and it frees blocks
	 * of its own, by an allocator of the program's if there is one. The order in which threads do that has to be
	 * recorded, so EXIT is made at exit(2).
	 */
	if (!thread_frees_in_order())
		thread_exit_event(t);
}

void thread_init(void)
{
	interposed_init();
	REAL(pthread_key_create)(&exit_key, exit_destructor);
	/* so that the key's block in struct pthread is allocated now, and not later */
	REAL(pthread_setspecific)(exit_key, &G.thr[1]);
}

uint64_t thread_tls_room(const struct thr *t)
{
	return SHIM_STACK_ADDR + (t->ordinal + 1) * STACK_SLOT - TLS_END;
}

static const uint64_t no_signals = ~(SIG_BIT(SIGSYS) | SIG_BIT(SIG_PREEMPT) | SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) |
				     SIG_BIT(SIGFPE) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP) | SIG_BIT(SIGKILL) |
				     SIG_BIT(SIGSTOP) | SIG_BIT(32) | SIG_BIT(33) /* libc's own */);

/* Unblocks signals, unless the thread's attributes have a mask of their own. */
static void let_signals_in(const struct thr *t)
{
	uint64_t mask = 0;

	raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
	if (mask == (t->born.mask | no_signals))
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &t->born.mask, 0, 8);
}

/* Runs on the recorder's own stack: what it leaves on the thread's stack must be the same in a replay. */
static void come_to_turn(void *p)
{
	struct thr *t = p;

	thread_leave_rseq();
	if (G.mode == SHIM_RECORD && log_open(t) == 0)
		arm_thread(t);
	if (t->born.fn)
		let_signals_in(t);
	if (G.mode == SHIM_RECORD) {
		if (G.serial)
			gil_acquire(t);
	} else if (G.mode == SHIM_REPLAY) {
		arm_replay_thread();
		G.ctl->tid[t->ordinal] = t->tid;
		__atomic_store_n(&t->born.arrived, 1, __ATOMIC_RELEASE);
		raw_futex_wake((uint32_t *)&t->born.arrived, 1);
		turn_wait(t);
	}
}

#define START_DEEP                                                                                                     \
	6144u /* libc's calls before these steps: in a replay traps, without a stack of the recorder's yet             \
	       */

static void first_steps(struct thr *t)
{
	t->depth = 1;
	t->selector = 0;
	self = t;
	t->shown_tid = G.mode == SHIM_REPLAY ? t->tid : (int)raw0(SYS_gettid);
	t->tid = (int)raw0(SYS_gettid);
	if (t->born.fn || t->libc_start)
		/* in threads that the program makes by clone, these data would be shared */
		REAL(pthread_setspecific)(exit_key, t);
	own_stack_use(t);
	own_stack_call(t, come_to_turn, t);
	ev(t, RLOG_START, 0, 0, 0);
	ev_done(t);
	shim_leave(t);
	if (t->born.fn)
		scrub_stack_bytes(START_DEEP);
}

static void *trampoline(void *p)
{
	struct thr *t = p;

	t->born.frames_end = (uint64_t)__builtin_frame_address(0);
	first_steps(t);
	return t->born.fn(t->born.arg);
}

void thread_adopted(struct thr *c);
void thread_adopted(struct thr *c)
{
	first_steps(c);
}

/* The thread's stack, at an address that depends on its ordinal alone. */
static int make_stack(struct thr *t, const pthread_attr_t *user, pthread_attr_t *out)
{
	void *addr;
	size_t size, guard = 0;
	char *base = (char *)(SHIM_STACK_ADDR + t->ordinal * STACK_SLOT);

	if (user)
		__builtin_memcpy(out, user, sizeof(*out));
	else if (pthread_getattr_default_np(out))
		return -1;
	/* if the end is NULL, only a size is given */
	if (user && pthread_attr_getstack(user, &addr, &size) == 0 && (uintptr_t)addr + size)
		return 0; /* the program brought its own */
	if (pthread_attr_getstacksize(out, &size) || pthread_attr_getguardsize(out, &guard))
		return -1;
	guard = (guard + 4095) & ~4095ul;
	size = ((size + 4095) & ~4095ul) + guard; /* as in libc, the thread has all of the size */
	if (size > STACK_SLOT - TLS_END)
		base = (char *)(SHIM_LARGE_STACK_ADDR + t->ordinal * LARGE_SLOT);
	if (size > LARGE_SLOT || (size > STACK_SLOT - TLS_END && t->ordinal >= SHIM_LARGE_STACKS))
		return -1;
	if (raw_failed(raw_mmap(base, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED, -1, 0)))
		return -1;
	if (guard)
		raw3(SYS_mprotect, base, guard, PROT_NONE);
	if (pthread_attr_getdetachstate(out, &t->born.detached))
		return -1;
	t->born.stack = base;
	t->born.stack_len = size;
	pthread_attr_setguardsize(out, 0);
	return pthread_attr_setstack(out, base + guard, size - guard);
}

static void wait_arrived(struct thr *c)
{
	while (!__atomic_load_n(&c->born.arrived, __ATOMIC_ACQUIRE))
		raw_futex_wait((uint32_t *)&c->born.arrived, 0);
}

static uint32_t next_ordinal(struct thr *t)
{
	struct rlog_rec r;

	if (G.mode != SHIM_REPLAY)
		return __atomic_fetch_add(&G.next_thread, 1, __ATOMIC_RELAXED);
	if (!turn_peek(t, &r) || r.kind != RLOG_CREATE)
		turn_take(t, &r, RLOG_CREATE); /* reports the divergence */
	if (r.op[0] >= G.next_thread)
		G.next_thread = (uint32_t)r.op[0] + 1;
	return (uint32_t)r.op[0];
}

static struct thr *new_thread(const struct thr *creator, uint32_t ordinal)
{
	struct thr *c = thread_slot(ordinal);

	__builtin_memset(c, 0, sizeof(*c));
	c->ordinal = ordinal;
	c->arena = heap_arena(ordinal);
	c->filter = creator->filter;
	c->hidden = creator->hidden;
	c->tsc_faults = creator->tsc_faults;
	own_stack_map(c);
	return c;
}

/* There are no ordinals left: makes the event of a thread that could not be created. Returns the error. */
static int no_number(struct thr *t)
{
	int64_t ret = 11; /* EAGAIN */
	uint64_t none = 0;

	note(RLOG_NOTE_UNSUPPORTED, RLOG_MAX_THREADS,
	     "more threads than fred can number in one process: pthread_create gave EAGAIN");
	ev(t, RLOG_CREATE, 0, RLOG_MAX_THREADS, 0);
	ev_done(t);
	ev_half(t, RLOG_CREATED, &ret, &none);
	return (int)ret;
}

struct thr *thread_adopt_begin(struct thr *t)
{
	struct rlog_rec r;
	struct thr *c;
	uint32_t ordinal;

	/* libc's own threads use queues under locks that make no event */
	if (G.mode == SHIM_REPLAY)
		gil_start_replay(t);
	else
		gil_start_now(t);
	ordinal = next_ordinal(t);
	if (ordinal >= RLOG_MAX_THREADS) {
		no_number(t);
		return 0;
	}
	c = new_thread(t, ordinal);
	ev(t, RLOG_CREATE, 0, ordinal, 0);
	G.mt = 1;
	if (G.mode == SHIM_REPLAY) {
		if (turn_map_log(c) && turn_result_ahead(t, &r) && r.kind == RLOG_CREATED)
			c->tid = r.op[0] ? -1 : (int)r.op[1]; /* -1: it could not be made */
		t->born.want_tid = c->tid;
	}
	return c;
}

long thread_adopt_end(struct thr *t, struct thr *c, long ret)
{
	int64_t failed = ret < 0 ? ret : 0;
	uint64_t tid = failed ? 0 : (uint64_t)ret;
	int wanted = t->born.want_tid >= 0;

	t->born.want_tid = 0;
	if (G.mode == SHIM_REPLAY && wanted) {
		if (failed)
			shim_fail("cannot create a thread with the recorded TID");
		wait_arrived(c);
	}
	ev_done(t);
	ev_half(t, RLOG_CREATED, &failed, &tid);
	return failed ? failed : (long)tid;
}

static _Unwind_Reason_Code no_further(struct _Unwind_Context *frame, void *arg)
{
	(void)frame, (void)arg;
	return _URC_END_OF_STACK;
}

/*
 * libc loads it at the first pthread_exit or cancellation, with many calls under the dynamic linker's lock, which other
 * threads need in order to start. So it is loaded while there is only one thread, and used once: what it does the first
 * time (pthread_once) would be an event or not, as a cancellation comes inside a real call when recording, and after it
 * in a replay.
 */
static void load_unwinder(struct thr *t)
{
	_Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void *);
	void *lib;

	shim_leave_quiet(t);
	lib = REAL(dlopen)("libgcc_s.so.1", RTLD_NOW);
	backtrace = lib ? REAL(dlsym)(lib, "_Unwind_Backtrace") : (void *)0;
	t->selector = 0;
	t->depth = 1;
	if (backtrace)
		backtrace(no_further, (void *)0);
}

/*
 * No signal must come to the new thread before it is known whose it is; its first steps unblock them. In a replay none
 * comes, but libc stores the mask, and the program's memory must be the same.
 */
static int create_quietly(pthread_t *out, const pthread_attr_t *attr, struct thr *c)
{
	int ret;

	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &no_signals, &c->born.mask, 8);
	ret = REAL(pthread_create)(out, attr, trampoline, c);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &c->born.mask, 0, 8);
	return ret;
}

/*
 * Does the creator keep the turn? Only if no other thread can have the locks that libc takes, and libc does not call
 * the program.
 */
static int keeps_turn(const struct thr *t, int locked)
{
	return G.serial && locked && t->gil.on && thread_has_allocator();
}

/*
 * Recording. libc takes locks of the dynamic linker, whose holder may wait for its turn. So the turn is given up,
 * unless keeps_turn() says otherwise; and then, too, if other threads wait in vain (interrupt.c).
 */
static int create_in_turn(struct thr *t, pthread_t *out, const pthread_attr_t *attr, struct thr *c, int locked)
{
	int keeps = keeps_turn(t, locked), lets_go = G.serial && !keeps && gil_lets_create(t), ret;

	t->creates = keeps ? CREATES_KEEPS : CREATES_NOT;
	c->chaos.coming = 1;
	ret = create_quietly(out, attr, c);
	if (ret)
		c->chaos.coming = 0;
	lets_go |= t->creates == CREATES_LETS_GO;
	t->creates = CREATES_NOT;
	if (lets_go || (keeps && !t->gil.on))
		gil_acquire(t);
	if (G.serial && ret == 0)
		gil_created(c);
	return ret;
}

EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	struct thr *t, *c;
	pthread_attr_t with_stack;
	struct rlog_rec r;
	uint32_t ordinal;
	int64_t ret = 0;
	uint64_t tid = 0;
	int locked = 0;

	INTERPOSED_FIRST(INTERPOSED_CREATE, pthread_create, (out, attr, start, arg));
	t = shim_enter();
	if (!t)
		return REAL(pthread_create)(out, attr, start, arg);
	t->caller = (uint64_t)__builtin_return_address(0);
	/* the real call takes a lock that others hold while they load a library */
	if (G.mt)
		locked = lib_thread_lock_soon(t, LIB_DL);
	else
		load_unwinder(t);
	if (G.next_thread == 2)
		own_locks_look(t);
	if (G.mode == SHIM_RECORD && keeps_turn(t, locked))
		gil_let_compute(t);
	ordinal = next_ordinal(t);
	if (ordinal >= RLOG_MAX_THREADS) {
		ret = no_number(t);
		if (locked)
			lib_thread_unlock(t, LIB_DL);
		shim_leave(t);
		return (int)ret;
	}
	c = new_thread(t, ordinal);
	c->born.fn = start;
	c->born.arg = arg;
	if (G.chaos)
		hot_see((uint64_t)start);
	ev(t, RLOG_CREATE, 0, ordinal, 0);
	G.mt = 1;
	if (make_stack(c, attr, &with_stack)) {
		ret = 11;
	} else if (G.mode == SHIM_REPLAY) {
		int created = turn_result_ahead(t, &r) && r.kind == RLOG_CREATED;

		/* not one that failed when recording, nor one during which the process ended */
		if (created && (int64_t)r.op[0] != 0) {
			ret = (int64_t)r.op[0];
		} else if (turn_map_log(c) == 0 || created) {
			if (!c->tid) /* the process ended before the thread got to its first event */
				c->tid = (int)r.op[1];
			t->born.want_tid = c->tid;
			ret = create_quietly(out, &with_stack, c);
			t->born.want_tid = 0;
			if (ret)
				shim_fail("cannot create a thread with the recorded TID");
			wait_arrived(c);
		}
	} else {
		ret = create_in_turn(t, out, &with_stack, c, locked);
	}
	ev_done(t);
	ev_half(t, RLOG_CREATED, &ret, &tid);
	if (locked)
		lib_thread_unlock(t, LIB_DL);
	shim_leave(t);
	return (int)ret;
}

/* Of a stack that it was given, libc says that it has no guard. There is one, of the size that was asked for. */
EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	int ret = REAL(pthread_getattr_np)(thread, attr);
	uint32_t n = G.thr ? __atomic_load_n(&G.next_thread, __ATOMIC_ACQUIRE) : 0;
	size_t size;
	void *addr;

	if (ret || pthread_attr_getstack(attr, &addr, &size))
		return ret;
	for (uint32_t i = 2; i < n && i < RLOG_MAX_THREADS; i++) {
		uint64_t guard = (uint64_t)addr - (uint64_t)G.thr[i].born.stack;

		if (G.thr[i].born.stack && guard < G.thr[i].born.stack_len)
			pthread_attr_setguardsize(attr, guard);
	}
	return 0;
}

struct thr *thread_find(pthread_t th)
{
	uint64_t a = (uint64_t)th, at = a - SHIM_STACK_ADDR, large = a - SHIM_LARGE_STACK_ADDR;

	if (at < RLOG_MAX_THREADS * STACK_SLOT)
		return thread_slot((uint32_t)(at / STACK_SLOT));
	if (large < SHIM_LARGE_STACKS * LARGE_SLOT)
		return thread_slot((uint32_t)(large / LARGE_SLOT));
	return 0;
}
