/* SPDX-License-Identifier: MIT */
/* group_page.h: the page that the processes of a group share (REC/group), and this process's part in it, for group*.c.
 */
#ifndef FRED_RECORD_GROUP_PAGE_H
#define FRED_RECORD_GROUP_PAGE_H

#include "record/core/state.h"

#define SLOTS 512u
#define REGIONS 4096u
#define JOURNAL (1u << 18)
#define WORDS 1024u

#define LOOK_NS 50000000l /* between looks at an owner that may be dead or spin */
#define OBJECT_NS 20000000l /* a wait for an object: others may have died with it */
#define WAITED 0x80000000u

struct slot {
	uint32_t pid, tid;
	uint32_t go; /* futex */
	uint32_t faults; /* pages looked at: it does not spin */
	uint64_t ticket; /* waits for its turn; 0: no */
};

struct group_page {
	uint32_t lock; /* futex: PID of the holder, and WAITED */
	uint32_t owner; /* slot + 1, 0: nobody */
	uint32_t waiting;
	uint32_t regions;
	uint64_t ticket;
	uint64_t turns;
	uint64_t head; /* of the journal: entries ever written */
	struct {
		uint64_t dev, ino;
	} region[REGIONS];
	struct slot slot[SLOTS];
	struct {
		uint32_t seq, waiters;
	} word[WORDS];
	uint64_t journal[JOURNAL];
};

struct group_part {
	struct group_page *p;
	uint32_t me; /* slot + 1 */
	int held;
	uint64_t pos; /* read up to there in the journal */
};
extern struct group_part group;

void group_lock(void); /* of the page */
void group_unlock(void);
void group_grant_next(void); /* the turn to the process that waits longest; with the lock held */
uint32_t group_own_pid(void);

#endif
