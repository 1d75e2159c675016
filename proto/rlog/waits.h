/* SPDX-License-Identifier: MIT */
/*
 * waits.h: what threads wait for. A process notes this in its own memory, where it is read from outside: `fredctl
 * record` while it runs (cli/supervisor/deadlock.h), and a worker at a position of a replay. Freestanding.
 */
#ifndef FRED_RLOG_WAITS_H
#define FRED_RLOG_WAITS_H

#include <stdint.h>

/*
 * What a thread waits for, if only another thread of the process can end the wait. WAIT_OTHER: it waits for something
 * else, or with a time limit.
 */
enum wait_kind {
	WAIT_OTHER = 0,
	WAIT_MUTEX,
	WAIT_RWLOCK,
	WAIT_COND,
	WAIT_SEM,
	WAIT_BARRIER,
	WAIT_JOIN, /* object: its entry in the table of threads; NULL: not known */
	WAIT_LIBC,
	WAIT_KINDS,
};

/* In a replay, with the kind: the call looks only once, or has a time limit. */
#define WAIT_LIMITED 0x100u

/*
 * Where this is in the process. Thread N is at threads + N * thread_size; at_*: offsets there, of a uint32_t unless
 * said otherwise. In a replay `handlers` is 0, and a thread whose kind is not 0 waits for its object only if that is
 * not free; else it waits for its turn.
 */
struct rlog_waits {
	uint64_t threads, thread_size; /* 0: nothing is known */
	uint64_t next_thread, group; /* addresses of uint32_t: one more than the last number; in a group of processes */
	uint64_t handlers, handler_size; /* recording: of signal N, at handlers + N * size: uint64_t, more than 1 if
					    there is one */
	uint32_t at_tid, at_exited, at_blocking, at_kind;
	/* uint64_t [2]; the second one: of a condition, the mutex that its wait locks again; or 0 */
	uint32_t at_object;
	uint32_t at_caller; /* uint64_t: return address of the call */
	uint32_t at_log; /* uint64_t: changes with each event of the thread */
	/* uint32_t: the TID that the program knows, which libc writes into locks; 0 (an older recorder): at_tid */
	uint32_t at_shown_tid;
};
_Static_assert(sizeof(struct rlog_waits) == 80, "rlog_waits");

/* In REC/control: the processes in which a thread has waited in this way. */
#define RLOG_WAITING 64u
struct rlog_waiting {
	uint32_t ready; /* 1 once the rest is written */
	uint32_t process; /* its image */
	uint64_t pid;
	struct rlog_waits at;
};

#endif
