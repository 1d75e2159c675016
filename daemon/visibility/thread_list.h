/* SPDX-License-Identifier: MIT */
/*
 * thread_list.h: the list of threads that a debugger gets. GDB numbers threads in the order in which it first sees
 * them, and forgets a thread that is no longer listed, with its number and its breakpoints. So all threads that the
 * program ever has are always listed, in the order of fred's numbers, and GDB's numbers are the same.
 *
 * The id of a thread is its TID, except where the kernel gave one TID to two threads.
 */
#ifndef FRED_VISIBILITY_THREAD_LIST_H
#define FRED_VISIBILITY_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct thread_list_entry {
	uint32_t process, ordinal; /* process 0: there is no such thread; it keeps the place */
	int32_t tid; /* as recorded */
	int id; /* what the debugger calls it */
	uint64_t first; /* the number of its first event; 0: not known */
};

struct thread_list {
	struct thread_list_entry *v; /* v[i] is thread i + 1 */
	unsigned n, cap;
};

/* Adds a thread at its ordinal's place, if that is free, with gaps before it, else at the end. */
void thread_list_add(struct thread_list *l, uint32_t process, uint32_t ordinal, int32_t tid, uint64_t first);
void thread_list_fini(struct thread_list *l);
/* NULL: there is none. */
const struct thread_list_entry *thread_list_by_id(const struct thread_list *l, int id);
/* Of two processes' threads with one ordinal, the one that has this TID, else the first. */
const struct thread_list_entry *thread_list_find(const struct thread_list *l, uint32_t ordinal, int32_t tid);

#endif
