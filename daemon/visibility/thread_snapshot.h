/* SPDX-License-Identifier: MIT */
/*
 * thread_snapshot.h: the state of a thread of a program that is being recorded, so that a replay can go to where it
 * stands: its registers, and the memory of the program (stack and data). It is passed in a file, since the live process
 * cannot be seen from a replay's cell.
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
	bool in_call; /* the thread is in a library call of the recorder: at the end of what is recorded */
	struct user_regs_struct regs;
	struct thread_snapshot_region *region; /* the first one is the stack; data regions as far as they fit (8 MiB) */
	unsigned n;
	struct thread_snapshot_region
		*ignored; /* locks whose waiters spun or slept, so that their words differ by chance; by address */
	unsigned ignored_n;
	uint8_t *data; /* of all regions, one after the other */
	size_t len;
};

/*
 * Takes the snapshot of a stopped thread whose process stands still. first_tls: the first thread's thread pointer, 0:
 * unknown. thread_snapshot_fini in any case.
 */
int thread_snapshot_look(struct thread_snapshot *p, struct trace *t, uint64_t first_tls, bool in_call, struct err *e);
int thread_snapshot_write(const struct thread_snapshot *p, const char *path, struct err *e);
int thread_snapshot_read(struct thread_snapshot *p, const char *path, struct err *e);
void thread_snapshot_fini(struct thread_snapshot *p);

/*
 * Are PC, stack pointer and thread pointer as in the snapshot? *differ: how many of the other registers that a call
 * preserves differ. (In a signal handler these have what the recorder has left there, which differs in a replay.)
 */
bool thread_snapshot_is_like(const struct thread_snapshot *p, const struct user_regs_struct *r, unsigned *differ);
/*
 * How many words of a process differ from the snapshot, without the ignored ranges: words of the stack, or with `all`
 * of the data, too. What the recorder has left on the stack differs in a replay; so the best state is the one with the
 * fewest, which may be more than 0.
 */
size_t thread_snapshot_differs(const struct thread_snapshot *p, pid_t pid, bool all);
/*
 * Some words in which process `pid` differs from the snapshot, with the snapshot's values (walk.h). Words that `pid`
 * has not changed since process `base`, which stands at the beginning of its segment, are left out: the segment did not
 * cause these differences. tell->n is 0: there is no other.
 */
void thread_snapshot_tell(const struct thread_snapshot *p, pid_t pid, pid_t base, struct walk_tell *tell);

#endif
