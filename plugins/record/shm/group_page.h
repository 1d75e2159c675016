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
#define OWNED_PAGES (1u << 16)
#define BASES 1024u /* copies of pages */

#define LOOK_NS 50000000l /* between looks at an owner that may be dead or spin */
#define SOON_NS 250000l /* the same at first: does it spin? */
#define SOON_LOOKS 8
#define PATIENCE_MIN 5000000l
#define CALM_TURNS 32u
#define LATE_MS 4u /* one that was woken for the turn, and did not come so far: the next one is woken */
#define STARVED_MS 20u /* others took the turn before it for so long: it gets it, whoever could take it earlier */
#define OBJECT_NS 20000000l /* a wait for an object: others may have died with it */
#define WAITED 0x80000000u
/* In owner: the process has been given the turn, but has not taken it yet (it may be stopped). */
#define GIVEN 0x80000000u

struct slot {
	uint32_t pid, tid;
	uint32_t go; /* futex: woken for the turn */
	uint32_t faults; /* pages looked at: it does not spin */
	uint64_t ticket; /* waits for its turn; 0: no */
	uint64_t turn; /* the number of its last one */
	uint64_t since_ms, woken_ms, looked_ms; /* waits since; was woken last; was looked at, whether it lives */
};

struct group_page {
	uint32_t lock; /* futex: PID of the holder, and WAITED */
	uint32_t owner; /* slot + 1, 0: nobody. A process has the turn when it has set this to its own from 0, or taken
			   GIVEN away from it */
	uint32_t waiting; /* how many slots have tickets */
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
	struct journal_entry {
		uint64_t what; /* slot + 1, or 0: nobody's; region, and LOOKED; page */
		uint64_t base; /* LOOKED: a copy of the page as it was then; 0: none */
	} journal[JOURNAL];
	struct owned { /* by page, as own_entry() finds it */
		uint32_t page;
		uint16_t region, slot; /* slot + 1 of the process that has it OWNED (pages_turn.c); 0: none has */
		uint64_t turn; /* since then */
	} owned[OWNED_PAGES];
	uint64_t bases; /* the last one's number; they stand in a ring */
	uint8_t base[BASES][4096];
};

struct group_part {
	struct group_page *p;
	uint32_t me; /* slot + 1 */
	int held;
	uint64_t pos; /* read up to there in the journal */
	uint64_t first; /* of the journal: before it, this slot's entries are of the process that had the slot before */
};
extern struct group_part group;

void group_lock(void); /* of the page */
void group_unlock(void);
void group_free_turn(void); /* this process's; wakes one that waits */
void group_queue(struct slot *s); /* it waits for the turn */
void group_unqueue(struct slot *s);
void group_forget(struct slot *s); /* its process has died, perhaps while it waited. With the lock held */
uint32_t group_own_pid(void);

#endif
