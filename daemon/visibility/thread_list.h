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
	uint32_t process, ordinal; /* process 0: there is no thread with this number, but its place is kept */
	int32_t tid; /* as recorded */
	int id; /* its number for the debugger */
	uint64_t first; /* the number of its first event; 0: not known */
};

struct thread_list {
	struct thread_list_entry *v; /* v[i] is thread i + 1 */
	unsigned n, cap;
};

/* Adds a thread at the place of its ordinal, with gaps before it if needed; if the place is taken, at the end. */
void thread_list_add(struct thread_list *l, uint32_t process, uint32_t ordinal, int32_t tid, uint64_t first);
void thread_list_fini(struct thread_list *l);
/* NULL: there is none. */
const struct thread_list_entry *thread_list_by_id(const struct thread_list *l, int id);
/* If two processes have a thread with this ordinal: the one with this TID, else the first. */
const struct thread_list_entry *thread_list_find(const struct thread_list *l, uint32_t ordinal, int32_t tid);

#endif
