/* SPDX-License-Identifier: MIT */
/*
 * thread_list.h: the threads of a program as a debugger knows them. GDB numbers threads in the order in which it first sees them, and
 * forgets one that is not listed any more, with its number and its breakpoints. So all threads that the program ever has are listed,
 * always, at the places that fred's numbers say: GDB's numbers are the same.
 *
 * The id of a thread is its TID, but where the kernel gave one TID to two threads.
 */
#ifndef FRED_VISIBILITY_THREAD_LIST_H
#define FRED_VISIBILITY_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct lineup_thread {
	uint32_t process, ordinal; /* process 0: there is no such thread; it keeps the place */
	int32_t tid; /* as recorded */
	int id; /* what the debugger calls it */
	uint64_t first; /* the number of its first event; 0: not known */
};

struct lineup {
	struct lineup_thread *v; /* v[i] is thread i + 1 */
	unsigned n, cap;
};

/* Adds a thread at its ordinal's place, if that is free, with gaps before it, else at the end. */
void lineup_add(struct lineup *l, uint32_t process, uint32_t ordinal, int32_t tid, uint64_t first);
void lineup_fini(struct lineup *l);
/* NULL: there is none. */
const struct lineup_thread *lineup_by_id(const struct lineup *l, int id);
/* Of two processes' threads with one ordinal, the one that has this TID, else the first. */
const struct lineup_thread *lineup_find(const struct lineup *l, uint32_t ordinal, int32_t tid);

#endif
