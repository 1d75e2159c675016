/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c: recording one thread at a time: the thread that runs ends, or is about to wait for something that only
 * another thread of the process can provide (a lock, a condition, the end of a thread), and all others already wait in
 * this way. They wait forever, unless a signal handler or another process releases one of them. A note says which
 * thread waits for what; it is removed if a thread continues. If neither can release them, `fredctl record` is told,
 * and ends the program when it has seen that no thread runs (cli/supervisor/deadlock.h).
 */
#include "record/sched/deadlock.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/util.h"
#include "record/store/log.h"

#define LOOKS 3000 /* checks of a thread that was woken, and neither runs on nor waits again */
#define PAUSE_NS 20000l
#define ROBUST 16 /* bits of a mutex's kind in glibc */
#define KIND 3 /* bits of a mutex's kind in glibc: normal, recursive, error-checking */
#define TELL_MOST 16u /* threads */

static const char *const things[] = {
	[WAIT_MUTEX] = "the mutex",	    [WAIT_RWLOCK] = "the read-write lock", [WAIT_COND] = "the condition",
	[WAIT_SEM] = "the semaphore",	    [WAIT_BARRIER] = "the barrier",	   [WAIT_JOIN] = "the end of thread",
	[WAIT_LIBC] = "a lock inside libc",
};

/* ---- is it one? ---- */

/*
 * The address of the word that x sleeps for, as /proc says it ("202 0xADDRESS ..."); 0: it does not sleep, or that is
 * not known. After a thread was woken, until it gets a processor, the kernel still gives the address, but not the state
 * of a sleeping thread.
 */
static uint64_t sleeps_for(const struct thr *x)
{
	static const char futex[] = "202 0x";
	char path[64], text[128];
	const char *s = text + sizeof(futex) - 1;
	long n = read_head(task_path(path, path + sizeof(path), x, "syscall"), text, sizeof(text) - 1);

	if (n <= (long)sizeof(futex))
		return 0;
	text[n] = 0;
	return __builtin_memcmp(text, futex, sizeof(futex) - 1) || task_state(x) != 'S' ? 0 : parse_number(&s, 16);
}

/* The process's first thread remains as a zombie. */
static int has_ended(struct thr *x)
{
	char state;

	if (!x->exited || x->chaos.gone)
		return x->chaos.gone;
	state = task_state(x);
	x->chaos.gone = !state;
	return !state || state == 'Z';
}

enum look { GOES_ON, IS_WOKEN, WAITS };

/* Does x wait for what t provides by ending, or releases before it waits? */
static int is_given(const struct thr *x, uint64_t word, const struct thr *t)
{
	const pthread_mutex_t *m = x->waits[0];

	if (t->internal)
		return word == (uint64_t)t->waits[1]; /* a wait for a condition releases the mutex first */
	if (x->internal == WAIT_JOIN)
		return !m || x->waits[0] == t;
	return x->internal == WAIT_MUTEX && m->__data.__kind & ROBUST;
}

static enum look look_at(struct thr *x, const struct thr *t)
{
	uint64_t word;

	if (x == t || !x->tid || has_ended(x))
		return x->chaos.coming ? GOES_ON : WAITS;
	if (x->exited)
		return IS_WOKEN; /* x is ending, and another thread may wait for that */
	if (!x->internal || x->gil.queued || x->own_process)
		return GOES_ON;
	word = x->blocking ? sleeps_for(x) : 0;
	if (!word)
		return IS_WOKEN;
	return is_given(x, word, t) ? GOES_ON : WAITS;
}

static enum look look_at_all(const struct thr *t)
{
	enum look all = WAITS;

	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS && all != GOES_ON; i++) {
		enum look one = look_at(&G.thr[i], t);

		if (one < all)
			all = one;
	}
	return all;
}

/* Will libc refuse the wait, with EDEADLK or EPERM? */
static int is_refused(const struct thr *t)
{
	const pthread_mutex_t *m = t->waits[t->internal == WAIT_COND];
	const struct thr *c = t->waits[0];

	switch (t->internal) {
	case WAIT_MUTEX:
		return (m->__data.__kind & KIND) == PTHREAD_MUTEX_ERRORCHECK && m->__data.__owner == t->tid;
	case WAIT_COND:
		return (m->__data.__kind & KIND) == PTHREAD_MUTEX_ERRORCHECK && m->__data.__owner != t->tid;
	case WAIT_RWLOCK:
		return ((const pthread_rwlock_t *)t->waits[0])->__data.__cur_writer == t->tid;
	case WAIT_JOIN:
		return !c || c == t || (c->internal == WAIT_JOIN && c->waits[0] == t);
	default:
		return 0;
	}
}

/*
 * A thread that waits for a condition releases the mutex some time after it has released the turn. Has the mutex that t
 * found taken been released since?
 */
static int is_free(const struct thr *t)
{
	return t->internal == WAIT_MUTEX && !__atomic_load_n((const int *)t->waits[0], __ATOMIC_ACQUIRE);
}

static int is_deadlock(const struct thr *t, int (*others_wait)(const struct thr *t))
{
	long pause[2] = {0, PAUSE_NS};
	enum look all = IS_WOKEN;

	/* the last thread at a barrier does not wait; and other processes may share what is waited for */
	if (t->internal == WAIT_BARRIER || G.group || others_wait(t) || is_refused(t))
		return 0;
	for (int i = 0; i < LOOKS && (all = look_at_all(t)) == IS_WOKEN; i++)
		raw2(SYS_nanosleep, pause, 0);
	/* a second look, since a thread that was found asleep may have been woken by one that was looked at later */
	return all == WAITS && look_at_all(t) == WAITS && !others_wait(t) && !is_free(t);
}

/* ---- what is said ---- */

static uint32_t holder(const struct thr *x)
{
	int tid = x->internal == WAIT_MUTEX ? ((const pthread_mutex_t *)x->waits[0])->__data.__owner : 0;

	for (uint32_t i = 1; tid && i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].tid == tid)
			return i;
	return 0;
}

static void tell(const struct thr *x)
{
	char text[232], *end = text + sizeof(text), *p = fmt_str(text, end, "thread ");
	uint32_t who = holder(x);

	p = fmt_dec(p, end, x->ordinal, 0);
	p = fmt_str(p, end, " waits for ");
	p = fmt_str(p, end, things[x->internal]);
	p = fmt_str(p, end, " ");
	if (x->internal == WAIT_JOIN) {
		p = x->waits[0] ? fmt_dec(p, end, ((const struct thr *)x->waits[0])->ordinal, 0) : fmt_str(p, end, "?");
	} else if (x->internal != WAIT_LIBC) {
		p = fmt_str(p, end, "0x");
		p = fmt_hex(p, end, (uint64_t)x->waits[0]);
	}
	if (who) {
		p = fmt_str(p, end, ", which thread ");
		p = fmt_dec(p, end, who, 0);
		p = fmt_str(p, end, " has");
	}
	p = fmt_str(p, end, "; called from ");
	describe_caller(x->caller, p, (unsigned)(end - p));
	note(RLOG_NOTE_DEADLOCK, x->ordinal, text);
}

/* Can a signal handler of the program's change it? */
static int has_handlers(void)
{
	for (int sig = 1; sig <= 64; sig++)
		if (sig_has_handler(sig) && !sig_is_sync(sig))
			return 1;
	return 0;
}

void deadlock_over(void)
{
	struct rlog_control *c = G.control;

	G.deadlock = 0;
	for (uint32_t i = 0; i < c->note_count && i < RLOG_NOTES; i++)
		if (c->note[i].kind == RLOG_NOTE_DEADLOCK && c->note[i].process == G.process)
			__atomic_store_n(&c->note[i].kind, RLOG_NOTE_NONE, __ATOMIC_RELEASE);
}

void deadlock_look(const struct thr *t, int (*others_wait)(const struct thr *t))
{
	uint32_t told = 0;

	if (!is_deadlock(t, others_wait))
		return;
	G.deadlock = 1;
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS && told < TELL_MOST; i++) {
		struct thr *x = &G.thr[i];

		if (!x->internal || has_ended(x))
			continue;
		tell(x);
		told++;
	}
	if (has_handlers()) {
		note(RLOG_NOTE_DEADLOCK, 0,
		     "all threads wait for each other (deadlock): only a signal handler can release them");
	} else if ((uint64_t)raw0(SYS_getppid) != G.control->client) {
		note(RLOG_NOTE_DEADLOCK, 0,
		     "all threads wait for each other (deadlock), until another process ends this one");
	} else {
		note(RLOG_NOTE_DEADLOCK, RLOG_DEADLOCK_FOR_EVER,
		     "all threads wait for each other (deadlock), and nothing can help: the program was ended by "
		     "SIGABRT");
		raw2(SYS_kill, (long)G.control->client, SIGCHLD);
	}
}
