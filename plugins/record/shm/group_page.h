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

#define LOOK_NS 50000000l /* between two looks at an owner that may be dead or spin */
#define SOON_NS 250000l /* the same for the first look, which asks whether it spins */
#define SOON_LOOKS 8
#define PATIENCE_MIN 5000000l
#define CALM_TURNS 32u
/* a process that was woken for the turn and has not come after this time: the next one is woken */
#define LATE_MS 4u
/* a process before which others took the turn for this long: it gets the turn next */
#define STARVED_MS 20u
/* limit of one wait for an object, since the process that would wake this one may have died */
#define OBJECT_NS 20000000l
#define WAITED 0x80000000u
/* Set in owner: the process was given the turn, but has not accepted it yet (it may be stopped). */
#define GIVEN 0x80000000u

struct slot {
	uint32_t pid, tid;
	uint32_t go; /* futex: incremented to wake the process for the turn */
	uint32_t faults; /* pages that it looked at: it does not spin */
	uint64_t ticket; /* number in the queue for the turn; 0: it does not wait */
	uint64_t turn; /* the number of its last one */
	/* times: since when it waits; when it was last woken; when it was last checked for being alive */
	uint64_t since_ms, woken_ms, looked_ms;
};

struct group_page {
	uint32_t lock; /* futex: PID of the holder, and WAITED */
	uint32_t owner; /* slot + 1, 0: nobody. A process has the turn when it has set this to its own from 0, or taken
			   GIVEN away from it */
	uint32_t waiting; /* how many slots have tickets */
	uint32_t regions;
	uint64_t ticket;
	uint64_t turns;
	uint64_t head; /* number of entries ever written to the journal */
	struct {
		uint64_t dev, ino;
	} region[REGIONS];
	struct slot slot[SLOTS];
	struct {
		uint32_t seq, waiters;
	} word[WORDS];
	struct journal_entry {
		uint64_t what; /* slot + 1, or 0: none; region, and LOOKED; page */
		uint64_t base; /* LOOKED: a copy of the page as it was then; 0: none */
	} journal[JOURNAL];
	struct owned { /* by page, as own_entry() finds it */
		uint32_t page;
		uint16_t region, slot; /* slot + 1 of the process that has it OWNED (pages_turn.c); 0: none has */
		uint64_t turn; /* since then */
	} owned[OWNED_PAGES];
	uint64_t bases; /* the number of copies ever made; they are kept in a ring */
	uint8_t base[BASES][4096];
};

struct group_part {
	struct group_page *p;
	uint32_t me; /* slot + 1 */
	int held;
	uint64_t pos; /* the journal has been read up to there */
	/* before this entry of the journal, entries of this slot are those of the process that had the slot before */
	uint64_t first;
};
extern struct group_part group;

void group_lock(void); /* of the page */
void group_unlock(void);
void group_free_turn(void); /* gives up this process's turn, and wakes a process that waits */
void group_queue(struct slot *s); /* the process waits for the turn */
void group_unqueue(struct slot *s);
void group_forget(struct slot *s); /* its process has died, perhaps while it waited. The caller holds the lock */
uint32_t group_own_pid(void);

#endif
