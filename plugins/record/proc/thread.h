/* SPDX-License-Identifier: MIT */
/* thread.h: how threads begin and end. */
#ifndef FRED_RECORD_THREAD_H
#define FRED_RECORD_THREAD_H

#include "record/core/state.h"

#include <pthread.h>

void thread_init(void);
void thread_find_rseq(void);
void thread_leave_rseq(void);
/*
 * Clears the word at a thread's end and wakes its waiters, as the kernel does. It is no error when the memory is gone;
 * it may be shared with other processes.
 */
void thread_clear_word(uint32_t *word);
struct thr *thread_find(pthread_t th); /* its struct pthread is in its stack; NULL: in none of the recorder's */
/*
 * Does libc free blocks, when a thread ends and when it is joined, by an allocator in which the order of that matters?
 * Then EXIT is a thread's last action, and another one joins it while it has the turn.
 */
int thread_frees_in_order(void);
void thread_exit_event(struct thr *t); /* EXIT: the thread's last event */
struct thr *thread_slot(uint32_t ordinal);
/* the end of a part of the slot of its stack that the stack does not use */
uint64_t thread_tls_room(const struct thr *t);
/*
 * For a thread that libc or the program makes by clone: called before the clone (NULL: there are no ordinals left), and
 * after it. The latter returns the result.
 */
struct thr *thread_adopt_begin(struct thr *t);
long thread_adopt_end(struct thr *t, struct thr *c, long ret);
_Noreturn void thread_leave(long status); /* leave.c: SYS_exit, after the EXIT event */

/* --- interposed.c: what stands between the recorder and libc --- */
enum interposed {
	INTERPOSED_CREATE,
	INTERPOSED_JOIN,
	INTERPOSED_TRYJOIN,
	INTERPOSED_TIMEDJOIN,
	INTERPOSED_DETACH,
	INTERPOSED
};
void interposed_init(void); /* REAL() of these functions is libc's from here on */
struct interposed_call {
	void *fn;
	enum interposed which;
	struct interposed_call *outer;
};
/*
 * 1: a library wraps the function, so call->fn has to be called in the recorder's place; then comes interposed_leave(),
 * also if the thread ends in that call. 0: there is none, or it is the one that calls. The call is on the caller's
 * stack.
 */
int interposed_enter(struct interposed_call *call, enum interposed i);
void interposed_leave(void *call);
/* In a function that returns int: returns what the library's function returns, if there is one to be called. */
#define INTERPOSED_FIRST(which, name, args)                                                                            \
	do {                                                                                                           \
		struct interposed_call call_;                                                                          \
		int ret_;                                                                                              \
                                                                                                                       \
		if (!interposed_enter(&call_, which))                                                                  \
			break;                                                                                         \
		pthread_cleanup_push(interposed_leave, &call_);                                                        \
		ret_ = ((__typeof__(&name))call_.fn)args;                                                              \
		pthread_cleanup_pop(1);                                                                                \
		return ret_;                                                                                           \
	} while (0)
/* Does libc get memory from an allocator of the program's? Such an allocator may have locks that make no event. */
int thread_has_allocator(void);

/* --- adopt.c: threads and processes made by clone with CLONE_VM --- */
void adopt_init(void);
/* is tp libc's: with a pointer to itself, and thread-local variables below it? */
int adopt_is_thread_pointer(uint64_t tp);
uint64_t adopt_tls(const struct thr *c); /* copies the calling thread's; returns the new thread pointer, 0: no memory */
uint64_t adopt_replay_flags(uint64_t flags); /* of a process: those of clone */
/* Replay: a thread has waited for the word of such a process, which the kernel clears when it is killed. */
void adopt_settle(const uint32_t *word);
void adopt_waited(long nr, const long *a, long ret); /* the same after a call that may have waited for a process */
/* The end of such a process; nr: exit or exit_group. */
_Noreturn void adopt_exit(struct thr *t, long nr, long status);

#endif
