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
 * While this word has another value the function need not be called: found out without leaving the translated code.
 * reg: 0 to 15 as instructions number them. half: only the low 4 bytes, or those at addr.
 */
enum { XLATE_MEMORY = -1 /* the 8 bytes at addr */, XLATE_HITS = -2 /* the count of hits */ };
/* Until when it says so: the recorder is called; the same, from above addr, below which a call leaves what it likes. */
enum xlate_until { XLATE_CALL, XLATE_CALL_ABOVE, XLATE_FOR_EVER };
struct xlate_filter {
	int reg, half;
	uint64_t addr;
	uint64_t value;
	int set;
	enum xlate_until until;
};

/* How it goes on after the place: LEAVE: there, in the original code. STEP: the same, with the trap flag set. */
enum xlate_go { XLATE_ON, XLATE_LEAVE, XLATE_STEP };

/*
 * Arrivals: those at these addresses, and each time that it comes into [lo, hi) from elsewhere, or by a call or a
 * return in there. sp: instructions with a lower stack pointer are neither in there nor elsewhere.
 */
struct xlate_count {
	const uint64_t *at;
	unsigned n;
	uint64_t lo, hi, sp;
	uint64_t nth; /* ops->arrived is asked at this one, from 1; 0: never */
	const struct xlate_word
		*word; /* each change of one of them is an arrival, too, but for one on the way to one of at */
	unsigned words;
	/* Branches, calls and returns are counted, too, apart from arrivals; ops->arrived is asked before this one. */
	int branches;
	uint64_t nth_branch;
	struct replay_report
		*report; /* rlog/report.h: accesses, calls and returns are told there; NULL: they are not */
};

/* Of memory: 1, 2, 4 or 8 bytes. */
#define XLATE_WORDS 4
struct xlate_word {
	uint64_t addr, len;
};

struct xlate_ops {
	/* Before the instruction at the place. regs: POINT_REGS of point.h; hits: how often it came here, from 1. */
	enum xlate_go (*hit)(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *filter);
	/*
	 * What stands at pc runs in the original code, and so does what comes after it: a call of the kernel, a trap,
	 * or what is not known. next: where that is; 0: no more can be translated at all.
	 */
	void (*stop)(void *arg, uint64_t pc, uint64_t next);
	/* Before the instruction at pc, at the nth arrival, where it leaves. May be NULL, if there is none. */
	void (*arrived)(void *arg, uint64_t pc);
	/*
	 * The instruction at `from` (0: a call of the recorder's code) has changed a word, and pc comes next. nth: it
	 * is the nth arrival, where it leaves, as it does when this is not 0. May be NULL, if no words are watched.
	 */
	int (*changed)(void *arg, uint64_t from, uint64_t pc, int nth);
	/* Before the instruction at pc, where it leaves: the report is full. May be NULL, if there is no report. */
	void (*full)(void *arg, uint64_t pc);
};

/* The number, as instructions have it, of each general register in gregs[]. */
#define XLATE_REGS 16
extern const uint8_t xlate_reg[XLATE_REGS] __attribute__((visibility("hidden")));

struct xlate;
/* at: where its own memory is to be; 0: anywhere. NULL: not on this machine, or for want of memory. */
struct xlate *xlate_new(uint64_t place, uint64_t at, const struct xlate_ops *ops, void *arg);
/* Code in [lo, hi) may change without a call of the kernel, too. */
void xlate_add_writable(struct xlate *x, uint64_t lo, uint64_t hi);
/* Can this machine's translated code leave out entries of a report (enum replay_report_filter)? */
int xlate_can_filter(void);
/* The address to go on at instead of pc, with all registers as they are; 0: this cannot be translated. */
uint64_t xlate_enter(struct xlate *x, uint64_t pc);
/*
 * Before xlate_enter: what to count, which stays the caller's; and where it goes, with all of the program's registers,
 * when it leaves, instead of where it stands.
 */
void xlate_count(struct xlate *x, const struct xlate_count *count, uint64_t out);
const uint64_t *xlate_arrivals(const struct xlate *x); /* so far; from now on, too */
const uint64_t *xlate_branches(const struct xlate *x);
const uint64_t *xlate_minus(const struct xlate *x); /* the watched words as they were last, with the sign changed */
/* In hit and arrived: the address to go on at, as returned by xlate_enter. */
uint64_t xlate_again(const struct xlate *x);
/* The pieces of the translator's own memory. Returns how many. */
#define XLATE_MAPS 9
struct xlate_map {
	uint64_t addr, len;
};
unsigned xlate_maps(const struct xlate *x, struct xlate_map m[XLATE_MAPS]);
uint64_t xlate_hits(const struct xlate *x); /* so far */
const void *xlate_back(const struct xlate *x); /* where its calls of the recorder return to, after xlate_enter */
/* Two words, of the last such call: where its return address stands, and what would stand there natively. */
const uint64_t *xlate_native(const struct xlate *x);
uint64_t xlate_at_places(const struct xlate *x); /* arrivals so far that are no changes of words */
/* Has the instruction before changed a word? At the place. */
int xlate_has_changed(const struct xlate *x);
uint64_t xlate_natives(const struct xlate *x); /* how many calls of the recorder there were */
/* How many blocks were compared with code that may have changed (xlate_fresh.c). */
uint64_t xlate_fresh_blocks(const struct xlate *x);
uint64_t
xlate_native_top(struct xlate *x); /* the highest stack pointer of those since this was asked before; 0: none */
/*
 * A fault in translated code, at this address in it: that of the original instruction, which has not been executed; all
 * registers are the program's. 0: the fault is not of such an instruction.
 */
uint64_t xlate_original(const struct xlate *x, uint64_t code);
/*
 * The return address in the program of a call of the recorder that will return to `ret`: another one if translated code
 * has called, to which `ret` leads. Valid until that code calls the recorder again.
 */
const void *xlate_caller(const void *ret);
/*
 * Is that where the calls of the recorder return to in this process's translated code, or did so in code that is freed?
 * Such calls leave it in dead words of the stack, where the original code leaves the return address in the program.
 */
int xlate_was_back(uint64_t addr);
/* Pairs of words: an address of translated code, and of the instruction that it is a copy of. *n: how many. */
const uint64_t *xlate_marks(const struct xlate *x, const uint32_t **n);
/* The thread has left the translated code. NULL is fine. */
void xlate_free(struct xlate *x);

#endif
