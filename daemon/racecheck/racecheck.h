/* SPDX-License-Identifier: MIT */
/*
 * racecheck.h: the consumer of an instrumented replay that looks for data races: from accesses, events and what
 * becomes of the heap to detect.h and syncs.h, and from pairs of accesses to findings.
 */
#ifndef FRED_RACECHECK_RACECHECK_H
#define FRED_RACECHECK_RACECHECK_H

#include "instrument/blocks.h"
#include "instrument/imports.h"
#include "instrument/instrument.h"
#include "instrument/stacks.h"
#include "racecheck/gives.h"
#include "racecheck/kernel.h"
#include "racecheck/names.h"
#include "racecheck/paths.h"
#include "racecheck/rules.h"
#include "racecheck/syncs.h"

/* An instruction or call that makes accesses. */
struct race_site {
	uint32_t path; /* the calls around it */
	enum race_site_kind {
		RACE_INSN,
		RACE_FREE,
		RACE_GUARD,
		RACE_KERNEL
	} kind; /* GUARD: of a C++ static variable, by libstdc++ */
	uint64_t pc; /* of the access; FREE, KERNEL: of the call of free, or of what made the system call */
	uint64_t shown; /* the PC that is shown: of the access, or of the call in the program that led to it */
	/* of the instruction: it has a lock prefix or is xchg; it reads and writes; it accesses more than 16 bytes */
	bool locked, modifies, wide;
	uint32_t code; /* the state of the code (instrument/code.h) */
	uint8_t atomic; /* enum rules_atomic + 1; 0: not asked yet */
	uint8_t relaxed; /* is it a relaxed operation, + 1; 0: not asked yet */
};

/* One of the two accesses of a race. */
struct race_end {
	struct moment at;
	enum race_site_kind kind;
	bool writes;
	uint64_t addr, len; /* the bytes that both accesses have in common */
	uint64_t pc; /* of the instruction itself */
};

enum race_place { RACE_ELSEWHERE, RACE_STATIC, RACE_HEAP, RACE_STACK };
enum race_changes { RACE_NOT_TRIED, RACE_CHANGES, RACE_CHANGES_NOT, RACE_CANNOT_SAY };

struct race {
	struct race_end earlier, later;
	uint64_t addr, len; /* of both */
	uint64_t count;
	enum race_place place;
	struct name name; /* text NULL: it has none */
	struct heap_piece block; /* HEAP */
	uint32_t owner; /* STACK: the thread */
	bool guessed; /* both are plain loads or stores without known source: they may be atomic operations */
	enum race_changes changes; /* op_races.c */
	uint64_t key[2]; /* numbers of the two statements */
};

/* Of a thread. */
struct race_thread {
	uint32_t *path; /* by depth of the stack: number of the path of calls up to there */
	size_t cap;
	struct race_time {
		uint64_t clock, event;
	} * times; /* from this value of its own clock on, the thread was after this event */
	size_t ntimes, ctimes;
	bool starts; /* it has not done anything yet */
	bool in_call; /* in a system call that has not returned */
	uint64_t call; /* the event */
	size_t copying; /* the depth of the stack in the call of a function that copies memory; 0: none */
};

struct racecheck {
	struct instrument i;
	struct detect detect;
	struct syncs syncs;
	struct kernel kernel;
	struct rules rules;
	struct blocks blocks;
	struct stacks stacks;
	struct paths paths;
	struct race_site *sites; /* number 0 is none */
	size_t nsites, csites;
	uint32_t *site_slot; /* a hash table of numbers */
	size_t site_slots;
	struct race_thread *threads; /* by ordinal */
	struct timeline *tl; /* borrowed */
	struct imports imports; /* functions that copy memory */
	struct gives gives;
	struct shadow owned; /* words of the heap that libc has for itself */
	struct shadow released; /* which bytes were written by an atomic operation that is not relaxed */
	uint32_t process; /* whose log the last event was in */
	bool many; /* there has been a second thread */
	bool known; /* the heap has been read */
	uint64_t unseen;
	struct race *v;
	size_t n, cap;
	uint64_t dropped; /* found, but not kept: there were too many */
};

void racecheck_init(struct racecheck *r, const struct rec *rec, struct timeline *tl);
void racecheck_fini(struct racecheck *r);
int racecheck_run(struct racecheck *r, struct nav *nav, uint64_t from, uint64_t to, struct err *e);

/*
 * Bits of instrument_insn.mark: whose code it is; STORES: it is an atomic store without a lock prefix; COPIES: it calls
 * a function that copies memory.
 */
enum {
	MARK_PROGRAM = 1,
	MARK_RUNTIME,
	MARK_NONE,
	MARK_WHOSE = 3,
	MARK_ASKED = 4, /* it is known whether it STORES, or COPIES */
	MARK_STORES = 8,
	MARK_COPIES = 16,
	MARK_SORTED = 128, /* it is known what is_sorted asks */
	MARK_EACH = 256, /* of a load: it may be an atomic one, in a program with relaxed ones */
	MARK_MET = 512 /* its accesses have been told */
};

/* ---- sites.c ---- */

/* The calls that the moving thread is in. */
uint32_t racecheck_path(const struct racecheck *r);
bool racecheck_is_program(struct racecheck *r, uint64_t pc);
/* The innermost call that the program itself has made; NULL: none. */
const struct instrument_frame *racecheck_call(struct racecheck *r);
void racecheck_more_sites(struct racecheck *r);
uint32_t racecheck_site_number(struct racecheck *r, const struct race_site *s);
/*
 * The site of an access; *hits: passes of the address that is shown; 0: that was not in this segment, or they are not
 * known.
 */
uint32_t racecheck_site(struct racecheck *r, const struct instrument_access *a, bool in_program, uint32_t *hits);

/* ---- stores.c ---- */

/* Is a plain store an atomic one? Found out before it is known to matter, once for each instruction. */
bool racecheck_stores_atomically(struct racecheck *r, const struct instrument_access *a, bool in_program);
/* Notes that these bytes of an atomic object were written by an operation that is not relaxed. */
void racecheck_note_release(struct racecheck *r, uint64_t addr, uint64_t len);
/* Was any of these bytes noted so? */
bool racecheck_is_released(struct racecheck *r, uint64_t addr, uint64_t len);
/* Finds out about the instruction what racecheck_sort then answers (instrument.h, `sort`). */
void racecheck_see(struct racecheck *r, const struct instrument_access *a, bool in_program);
enum segcur_sort racecheck_sort(void *ctx, struct instrument *i, struct instrument_insn *x);

/* ---- findings.c ---- */

/* Adds the race of these two accesses, or counts it once more if it is known. */
void racecheck_add(struct racecheck *r, const struct detect_access *earlier, const struct detect_access *later);

#endif
