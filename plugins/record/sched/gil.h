/* SPDX-License-Identifier: MIT */
/* gil.h: recording one thread at a time. */
#ifndef FRED_RECORD_GIL_H
#define FRED_RECORD_GIL_H

#include "record/core/state.h"

/* Other processes that share memory, if there are any: shm/group.c. start/connect.c fills the table before anything
 * else. */
struct gil_group {
	void (*enter)(struct thr *t); /* waits until it is this process's turn */
	void (*leave)(void);
	void (*yield)(struct thr *t); /* leaves, and enters after others that wait */
	int (*wanted)(void); /* does another process wait for the turn? */
};
extern struct gil_group gil_group;
/*
 * The value of a SIG_PREEMPT that another process of the group sends. It interrupts the thread that has the turn, at
 * once or, in a sample, if the thread spins. No program has this address.
 */
#define GROUP_POKE ((void *)SHIM_GROUP_ADDR)
#define GROUP_SAMPLE ((void *)(SHIM_GROUP_ADDR + 1))

void gil_init(struct thr *t); /* the calling thread, which is the only one, gets it */
void gil_acquire(struct thr *t);
/* t has waited until *end: if that was a short wait, and other threads run, goes over from parallel to serial. */
void gil_start(struct thr *t, const struct timespec *end);
/* Goes over to serial at once, whatever other threads do. */
void gil_start_now(struct thr *t);
void gil_start_replay(struct thr *t); /* replay: goes over where the recording did */
void gil_join(struct thr *t); /* at the end of an event of a thread that ran in parallel until now: waits for the gil */
void gil_release(struct thr *t); /* after a stamped record */
int gil_lets_create(struct thr *t); /* t is about to create a thread. 1: the gil was released */
/*
 * Before t calls something that takes locks which make no events: threads that were interrupted in a computation, and
 * may have such a lock, run up to their next event. As before an acquire: a record of t is sure to follow.
 */
void gil_let_compute(struct thr *t);
int gil_lets_compute(void); /* one of these runs: it is not interrupted where there is a choice */
void gil_created(const struct thr *c); /* chaos: waits until the new thread c asks for the gil */
void gil_point(struct thr *t); /* after a stamped record: lets others run if the slice is over */
void gil_before(struct thr *t); /* chaos: the same before an acquire, which will certainly be recorded */
void gil_switch(struct thr *t); /* after a stamped record: lets others run at once */
void gil_look(struct thr *t); /* after a stamped record, if t reads the clock again and again: lets others run */
void gil_block(struct thr *t); /* before a call that may wait */
void gil_unblock(struct thr *t);
void gil_leave(struct thr *t); /* t ends */
void gil_sleeps(struct thr *t, uint64_t ns); /* before a call that does nothing but sleep for ns */
int gil_wanted(const struct thr *t); /* t holds it and others wait */
uint64_t gil_slice_start(uint64_t *cpu_ns); /* the stamp at which the slice began, and its thread's CPU time then */
void gil_preempt(struct thr *t); /* after the PREEMPT record of t */
extern const char interrupt_ours; /* its address, as the value of a SIG_PREEMPT, says that the recorder has sent it */
void interrupt_poke(struct thr *t); /* called by a thread that waits for t: interrupts t, which makes no event */
void interrupt_sample(struct thr *t); /* the same, if t spins */
int threads_alone(const struct thr *t); /* no other thread of the process lives */
void spin_fork_child(
	/* in a fork's child: no thread here may signal the parent's other threads, or wait for them */
	struct thr *now);
/*
 * After the system call nr of t, whose record began at `from`, while threads run side by side: goes over to one at a
 * time when a thread waits by looking at memory; on replay, when the recorder did. sleeps: the call, whose arguments
 * are a, does nothing but let time pass, or may be a read from a timer.
 */
void spin_after_call(struct thr *t, long nr, const long *a, int sleeps, const uint8_t *from);
static inline int spin_may_read_timer(long nr, const long *a)
{
	return nr == SYS_read && a[2] == 8; /* timerfd_create(2) */
}

#endif
