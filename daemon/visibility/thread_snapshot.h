/* SPDX-License-Identifier: MIT */
/*
 * thread_snapshot.h: where a thread of a program that is being recorded stands, for a replay to go there: its registers, and what the
 * program has on its stack and in its data. Kept in a file: the live process cannot be seen from a replay's cell.
 */
#ifndef FRED_VISIBILITY_THREAD_SNAPSHOT_H
#define FRED_VISIBILITY_THREAD_SNAPSHOT_H

#include "trace/walk.h"

struct thread_snapshot_region {
	uint64_t addr;
	uint64_t len;
};

struct thread_snapshot {
	pid_t pid, tid;
	bool in_call; /* in a library call of the recorder's: at the end of what is recorded */
	struct user_regs_struct regs;
	struct thread_snapshot_region *region; /* the first one is the stack's; as far as they are not too large */
	unsigned n;
	struct thread_snapshot_region *hole; /* in ascending order: locks that were waited for, which says nothing (plugins/record/holes.h) */
	unsigned holes;
	uint8_t *data; /* of all regions, one behind the other */
	size_t len;
};

/*
 * Of a stopped thread whose process stands still. first_tls: the first thread's thread pointer, 0: unknown. thread_snapshot_fini in
 * any case.
 */
int thread_snapshot_look(struct thread_snapshot *p, struct trace *t, uint64_t first_tls, bool in_call, struct err *e);
int thread_snapshot_write(const struct thread_snapshot *p, const char *path, struct err *e);
int thread_snapshot_read(struct thread_snapshot *p, const char *path, struct err *e);
void thread_snapshot_fini(struct thread_snapshot *p);

/*
 * Has the thread the same PC and stack? *differ: of the registers that a function keeps for its caller, so many are others. A signal
 * handler has in them what the recorder left there, which is not what a replay leaves.
 */
bool thread_snapshot_is_like(const struct thread_snapshot *p, const struct user_regs_struct *r, unsigned *differ);
/*
 * How many words of a process's memory are not as there, locks left out: of the stack, or with `all` of the rest. In what the recorder has
 * left on the stack a replay may differ, so that the least is best.
 */
size_t thread_snapshot_differs(const struct thread_snapshot *p, pid_t pid, bool all);
/*
 * Some of the words in which process `pid` differs, with the values that they have there (walk.h): of those only that are not
 * as in process `base` either, where its segment begins. What differs since then is not the segment's work. n is 0: nothing
 * that the segment does is missing or too much.
 */
void thread_snapshot_tell(const struct thread_snapshot *p, pid_t pid, pid_t base, struct walk_tell *tell);

#endif
