/* SPDX-License-Identifier: MIT */
/*
 * xlate.h: runs the program's code in translated form, block by block, so that a function is called with its registers
 * each time that it reaches one address, the place. That costs a few nanoseconds each time. The translated code does to
 * registers and memory what the original does. For the calling thread, or, in a copy of the process, for as long as the
 * copy runs. It can also count how often other addresses are reached.
 */
#ifndef FRED_RECORD_XLATE_H
#define FRED_RECORD_XLATE_H

#include "record/core/state.h"
#include "rlog/report.h"

#include <stdint.h>

/*
 * While this word has another value, the function need not be called; translated code itself finds that out. reg: 0 to
 * 15 as instructions number them. half: only the low 4 bytes, or those at addr.
 */
enum { XLATE_MEMORY = -1 /* the 8 bytes at addr */, XLATE_HITS = -2 /* the count of hits */ };
/*
 * Until when the filter is valid: until the recorder is called; until it is called with a stack pointer above addr, as
 * such a call does not keep what is below; for ever.
 */
enum xlate_until { XLATE_CALL, XLATE_CALL_ABOVE, XLATE_FOR_EVER };
struct xlate_filter {
	int reg, half;
	uint64_t addr;
	uint64_t value;
	int set;
	enum xlate_until until;
};

/* How it goes on after the place. LEAVE: there, in the original code. STEP: the same, with the trap flag set. */
enum xlate_go { XLATE_ON, XLATE_LEAVE, XLATE_STEP };

/*
 * What counts as an arrival: coming to one of these addresses; entering [lo, hi) from outside, or by a call or return
 * inside. sp: instructions with a lower stack pointer count as neither inside nor outside.
 */
struct xlate_count {
	const uint64_t *at;
	unsigned n;
	uint64_t lo, hi, sp;
	uint64_t nth; /* ops->arrived is asked at this arrival, from 1; 0: never */
	const struct xlate_word
		/*
		 * each change of one of these words is an arrival as well, unless it is made on the way to one of the
		 * addresses `at`
		 */
		*word;
	unsigned words;
	/* Branches, calls and returns are counted separately from arrivals; ops->arrived is asked before this one. */
	int branches;
	uint64_t nth_branch;
	struct replay_report *report; /* rlog/report.h: gets accesses, calls and returns; NULL: there is no report */
};

/* A word of memory: 1, 2, 4 or 8 bytes. */
#define XLATE_WORDS 4
struct xlate_word {
	uint64_t addr, len;
};

struct xlate_ops {
	/*
	 * Called before the instruction at the place. regs: POINT_REGS of point.h; hits: how often the place was
	 * reached, from 1.
	 */
	enum xlate_go (*hit)(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *filter);
	/*
	 * Called where the original code has to run: the instruction at pc and what follows it is a system call, a
	 * trap, or unknown. next: where translation can go on; 0: it cannot at all.
	 */
	void (*stop)(void *arg, uint64_t pc, uint64_t next);
	/* Called before the instruction at pc, at the nth arrival, where it leaves. May be NULL, if there is none. */
	void (*arrived)(void *arg, uint64_t pc);
	/*
	 * Called when the instruction at `from` (0: a call of the recorder's code) has changed a word, before the one
	 * at pc. nth: it is the nth arrival, at which the code is left; so it is when the result is not 0. May be NULL,
	 * if no words are watched.
	 */
	int (*changed)(void *arg, uint64_t from, uint64_t pc, int nth);
	/*
	 * Called before the instruction at pc, when the report is full, which leaves. May be NULL, if there is no
	 * report.
	 */
	void (*full)(void *arg, uint64_t pc);
};

/* The number, as instructions have it, of each general register in gregs[]. */
#define XLATE_REGS 16
extern const uint8_t xlate_reg[XLATE_REGS] __attribute__((visibility("hidden")));

struct xlate;
/* at: the address of its own memory; 0: any. NULL: not possible on this machine, or no memory. */
struct xlate *xlate_new(uint64_t place, uint64_t at, const struct xlate_ops *ops, void *arg);
/* Code in [lo, hi) may change without a system call. */
void xlate_add_writable(struct xlate *x, uint64_t lo, uint64_t hi);
/* Can this machine's translated code leave out entries of a report (enum replay_report_filter)? */
int xlate_can_filter(void);
/*
 * Returns the address at which to continue instead of pc, with all registers as they are; 0: this code cannot be
 * translated.
 */
uint64_t xlate_enter(struct xlate *x, uint64_t pc);
/*
 * Before xlate_enter: what to count (borrowed); and where to go, with all of the program's registers, when leaving,
 * instead of where the thread is.
 */
void xlate_count(struct xlate *x, const struct xlate_count *count, uint64_t out);
const uint64_t *xlate_arrivals(const struct xlate *x); /* so far; also up to date later */
const uint64_t *xlate_branches(const struct xlate *x);
const uint64_t *xlate_minus(const struct xlate *x); /* the watched words as they were last, negated */
/* In hit and arrived: the address at which to continue, as xlate_enter returns it. */
uint64_t xlate_again(const struct xlate *x);
/* The ranges of the translator's own memory. Returns how many. */
#define XLATE_MAPS 9
struct xlate_map {
	uint64_t addr, len;
};
unsigned xlate_maps(const struct xlate *x, struct xlate_map m[XLATE_MAPS]);
uint64_t xlate_hits(const struct xlate *x); /* so far */
const void *xlate_back(const struct xlate *x); /* where its calls of the recorder return to, after xlate_enter */
/*
 * Three words, of the last such call: where its return address stands, and what would stand there natively; not 0: it
 * is one of libc's code.
 */
const uint64_t *xlate_native(const struct xlate *x);
uint64_t xlate_at_places(const struct xlate *x); /* arrivals so far that are no changes of words */
/* At the place: has the instruction before it changed a word? */
int xlate_has_changed(const struct xlate *x);
uint64_t xlate_natives(const struct xlate *x); /* how many calls of the recorder there were */
/* How many blocks were compared with code that may have changed (xlate_fresh.c). */
uint64_t xlate_fresh_blocks(const struct xlate *x);
uint64_t
/* the highest stack pointer of those calls since this was asked last; 0: there was none */
xlate_native_top(struct xlate *x);
/*
 * For a fault in translated code at this address: the original instruction, which has not been executed; all registers
 * are the program's. 0: the fault is not one of such an instruction.
 */
uint64_t xlate_original(const struct xlate *x, uint64_t code);
/*
 * The return address in the program of a call of the recorder that will return to `ret`: they differ if translated
 * code, to which `ret` belongs, has made the call. Valid until that code calls the recorder again.
 */
const void *xlate_caller(const void *ret);
/*
 * Is this where calls of the recorder return to in this process's translated code, or in such code that was freed? Such
 * calls leave it in dead words of the stack, where the original code leaves the return address in the program.
 */
int xlate_was_back(uint64_t addr);
/* Pairs of words: an address of translated code, and that of the instruction of which it is a copy. *n: how many. */
const uint64_t *xlate_marks(const struct xlate *x, const uint32_t **n);
/* The thread has left the translated code. x may be NULL. */
void xlate_free(struct xlate *x);

#endif
