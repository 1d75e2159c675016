/* SPDX-License-Identifier: MIT */
/*
 * watch_conditions.h: conditions of watchpoints, as agent expression bytecode, so that the debugger need not be asked
 * about a change for which the condition is false. For an object of several words, each word has the condition. GDB
 * sends the conditions of breakpoints (Z0), but not those of watchpoints (Z2): fred's Python code in GDB sends them
 * (cli/gdb/conditions.py). Forwards, a condition is evaluated in the state after the change; backwards, in the state
 * before it, where only the watched word is known. A condition that cannot be evaluated here counts as true, so that
 * the debugger evaluates it.
 *
 * Conditions with variables of a frame read registers: those of the thread that has made the change, after it. They
 * count as true if the PC is not in the code for which they were compiled. Backwards, memory that is not next to the
 * watched word counts as known for them, since a single instruction has changed the word; they are evaluated both for
 * the state before it and for the state after it.
 */
#ifndef FRED_VISIBILITY_WATCH_CONDITIONS_H
#define FRED_VISIBILITY_WATCH_CONDITIONS_H

#include "trace/group.h"
#include "visibility/condition.h"

#define WATCH_READS_MAX 16u

/* The memory with which a condition was false. */
struct watch_reads {
	unsigned n;
	struct {
		uint64_t addr;
		unsigned len;
		uint8_t v[8];
	} v[WATCH_READS_MAX];
};

struct watch_condition {
	uint64_t addr; /* of the watched word */
	unsigned len; /* 1, 2, 4 or 8 */
	struct conds conds; /* one of them has to be true */
	bool registers; /* a condition reads registers */
	/* the memory with which it was false on the way; n 0: it was not, since the last resume */
	struct watch_reads last;
	bool stale; /* the word has changed since the debugger last read it */
	/* its value on the other side of the change that is a stop: forwards before it, backwards after it */
	uint8_t other[8];
};

struct watch_conditions {
	unsigned n;
	struct watch_condition *v;
	bool back; /* the program moves backwards */
	bool unknown; /* the last condition that was true counted as true only since memory was unknown */
	bool walked; /* changes with a false condition are walked past faster, and stops are not counted */
};

/* data is the memory at addr: replaces the bytes for which r has other values. */
void watch_reads_cover(const struct watch_reads *r, uint64_t addr, void *data, size_t len);

void watch_conditions_fini(struct watch_conditions *c);
/* Copies the code. If a word has several conditions, one of them must be true. */
void watch_conditions_add(struct watch_conditions *c, uint64_t addr, unsigned len, const uint8_t *code, size_t n);
/* NULL: that slot has none. c may be NULL. */
struct watch_condition *watch_conditions_find(struct watch_conditions *c, const struct group_slot *s);
/* Are they for words of the same object, whose condition both have: is the code the same? */
bool watch_conditions_share(const struct watch_condition *a, const struct watch_condition *b);
/* Thread t has changed the word of s, from `was` to `now`: is it a stop? */
bool watch_conditions_hold(struct watch_conditions *c, const struct group_slot *s, struct trace *t,
			   const uint8_t was[8], const uint8_t now[8]);
/* Is c true if memory is this, and nothing else is known? */
bool watch_condition_is_true_in(const struct watch_condition *c, const struct watch_reads *known);
/* What is read to evaluate c in process pid, as far as it can be. regs: NULL: not known. */
void watch_condition_reads(const struct watch_condition *c, pid_t pid, const struct user_regs_struct *regs,
			   struct watch_reads *r);
/* Is c true if memory is this, and otherwise that of pid? regs: as above. */
bool watch_condition_is_true_over(const struct watch_condition *c, pid_t pid, const struct user_regs_struct *regs,
				  const struct watch_reads *over);

#endif
