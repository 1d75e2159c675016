/* SPDX-License-Identifier: MIT */
/*
 * waits.h: what the threads of a process wait for, and which of them wait for each other: for a process
 * that is being recorded, or one of a replay. It is read from the process's memory (rlog/waits.h).
 */
#ifndef FRED_DESCRIBE_WAITS_H
#define FRED_DESCRIBE_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "rlog/waits.h"

struct waits_thread {
	uint32_t thread; /* its number */
	pid_t tid;
	pid_t shown_tid; /* in locks of the program */
	enum wait_kind kind; /* 0: it does not wait for another thread; while it is recorded, also with a time limit */
	bool limited; /* in a replay: it looks only once, or has a time limit */
	uint64_t object, caller, log; /* as in rlog/waits.h */
	uint64_t mutex; /* in a replay, of a condition: what its wait locks again before it returns; 0: not known */
	uint32_t owner; /* the thread that holds the object or the mutex, or whose end is awaited; 0: not known, or none
			   in particular */
	bool readers; /* the object is held by readers, so that owner is not known */
	bool ended; /* the thread has ended: what it holds is never released */
	bool in_cycle; /* it waits for itself, through the threads that it waits for */
	bool stuck; /* it is in a cycle, or waits, possibly through others, for a thread that is in one or has ended */
};

struct waits {
	struct waits_thread *v; /* by number; with threads that have ended */
	size_t n;
	bool all; /* of a recording: every thread that has not ended waits, so that no thread can wake another */
	bool stuck; /* some are */
	bool group; /* other processes share the memory, and may help */
};

enum waits_of {
	WAITS_OF_REPLAY, /* at a position */
	WAITS_OF_RECORDING, /* what the recorder says of threads that run */
	WAITS_CONFIRMED, /* the same, where the kernel says that they sleep; only then is `all` certain */
};

/* -1: it cannot be read, or is about to end. waits_fini in any case. */
int waits_read(struct waits *w, pid_t pid, const struct rlog_waits *at, enum waits_of how);
void waits_fini(struct waits *w);
/* Computes in_cycle and stuck again, after a caller has set owners that it knows from elsewhere. */
void waits_conclude(struct waits *w);
/* Has the process handlers for signals that other processes may send? true if that is not known. */
bool waits_has_handlers(pid_t pid, const struct rlog_waits *at);
/*
 * Does the thread sleep in futex(2)? /proc/PID/task/TID/syscall names the call; stat also shows that a thread in it has
 * just been woken.
 */
bool waits_is_asleep(pid_t pid, pid_t tid);
/* Are these the same waits of the same threads, with no event between? */
bool waits_same(const struct waits *a, const struct waits *b);

/* "waits for the mutex NAME, which thread N (NAME) has; called from FUNCTION at FILE:LINE", malloc'd. */
char *waits_text(const struct waits *w, const struct waits_thread *t, pid_t pid);
/* "thread N", or "thread N (NAME)" where its name is not the process's, malloc'd. */
char *waits_thread_text(const struct waits_thread *t, pid_t pid);
/* "threads 2 and 3 wait for each other (deadlock)", malloc'd; NULL: none do. */
char *waits_deadlock_text(const struct waits *w);

#endif
