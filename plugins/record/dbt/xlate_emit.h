/* SPDX-License-Identifier: MIT */
/*
 * xlate_emit.h: the instructions of translated code (xlate.h), and what they share with xlate.c, through GS.
 *
 * The translated code uses the program's stack and registers just as the original: calls push the original return
 * address, so nothing in memory is different. What it needs for itself is reached through GS.
 */
#ifndef FRED_RECORD_XLATE_EMIT_H
#define FRED_RECORD_XLATE_EMIT_H

#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate.h"
#include "rlog/replay.h"
#include "rlog/walk.h"

#include <stddef.h>

#define CACHES 8
#define SITES (1u << 18)
#define BLOCKS (1u << 19) /* a power of two */
#define QUICK (1u << 20)
#define QUICK_OF(pc) ((pc) / 2 % QUICK) /* two targets of branches are hardly ever one byte apart */
#define XLATE_WRITABLE 32
#define MARKS REPLAY_WALK_MARKS
#define BLOCK_INSNS 64
#define FRESH_INSNS 16 /* of a block that is compared with the original */
#define EXIT_BYTES 20 /* of an exit; a jump in its place must fit */
#define KNOWN_STUBS (2 * REPORT_KNOWN_SIZES + 1)
#define NATIVE 32 /* nested calls of the recorder; 8 bytes each, so that their offsets fit a byte */

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

enum site_kind {
	SITE_GO,
	SITE_BY,
	SITE_RET,
	SITE_PLACE,
	SITE_PASSED,
	SITE_ARRIVED,
	SITE_CHANGED,
	SITE_FULL,
	SITE_STALE,
	SITE_STOP
};

struct site {
	uint64_t pc; /* GO: where to; CHANGED: 0: to the address in `by` */
	/* the exit; for PLACE, PASSED, ARRIVED, CHANGED and FULL, the instruction is after it; for STALE, the block */
	uint8_t *code;
	enum site_kind kind;
	uint64_t from; /* CHANGED: see xlate_ops.changed */
};

struct xlate_range {
	uint64_t lo, hi; /* the range [lo, hi) */
};

struct cache {
	uint8_t *base, *cur, *end;
};

/*
 * xlate_shadow.c: a report's entry of the instruction at p is written by code behind the block. The jumps that lead
 * there (the addresses of their ends), and where that code returns to. rcx is in kept_rcx.
 */
#define COLD_JUMPS 3
struct cold {
	uint8_t *jump[COLD_JUMPS], *back;
	const uint8_t *p;
	unsigned jumps;
};

/* An instruction of the original, and the beginning of the code that does the same. */
struct mark {
	uint64_t code, pc;
};

struct xlate {
	/* at GS: emitted code and the thunk know these offsets */
	uint64_t reg[16];
	uint64_t flags, target, stack, xsave, self, leave, thunk; /* 128 to 176 */
	uint64_t site, by, hits, kept_rax, kept_rcx, kept_rdx, kept_flags, native_at, natives, native_top, fresh;
	uint64_t arrivals, nth, sp, outside, branches, nth_branch;
	uint64_t full_bits, heap_bits, shadow_bits, report_full; /* xlate_report.c: masks for pext; without pext */
	uint64_t operand; /* address of the operand that is examined */
	uint64_t page_bit; /* xlate_report.c: the bit that is set in addresses of every second page */
	/* xlate_known.c: the site whose entry is written; where the stub returns to; the saved rdx */
	uint64_t known_site, known_back, kept_known;
	uint64_t sign_bit, called; /* xlate_report.c: 1 << 63; where a return address is, bits inverted, 0: nowhere */
	uint64_t check, check_thunk; /* xlate_calls.c: REPORT_CHECK_... of the call; the code that checks it */
	uint64_t minus[XLATE_WORDS]; /* the watched words, negated */
	/*
	 * of the last call of the recorder: where its return address is, and the return address in the program, instead
	 * of which `back` is there
	 */
	uint64_t native_sp, native_ret;
	uint64_t native_libc; /* not 0: what was called is a function of libc's (xlate_calls.c) */
	uint64_t native[NATIVE]; /* a ring, since a jump out of the recorder leaves an entry behind */
	struct { /* targets of branches through registers and memory, by the low bits of the address */
		uint64_t pc, code;
	} quick[QUICK];

	const struct xlate_ops *ops;
	void *arg;
	uint64_t place, len;
	const struct xlate_count *count; /* NULL: nothing is counted */
	uint64_t out; /* 0, or where it goes when it leaves, instead of pc in the original code */
	uint64_t again; /* after the last exit */
	uint64_t changes; /* changes that are counted as arrivals */
	/* the hit before which the instruction in front of the place last changed a word; 0: none */
	uint64_t changed_hit;
	int failed; /* the code that is being translated cannot be translated */
	int can_filter; /* xlate_can_filter */
	unsigned passed, passes; /* filters; when this many have let the word pass, another one is chosen */
	struct cache cache[CACHES];
	unsigned ncaches;
	uint32_t nsites, nmarks;
	uint8_t *back; /* the code to which the recorder returns */
	uint8_t *known[CACHES][KNOWN_STUBS]; /* xlate_known.c; NULL: there is none yet */
	/* in the code of the block that is being translated: the number of its accesses, 4 bytes; NULL: not counted */
	uint8_t *accesses;
	struct cold cold[BLOCK_INSNS]; /* of the block that is being translated */
	unsigned ncold;
	uint64_t dead_flags; /* xlate_flags.c: of the same block, a bit for each instruction */
	unsigned at; /* the number of the next instruction */
	struct xlate_range writable[XLATE_WRITABLE]; /* memory that is writable and executable */
	unsigned nwritable;
	/*
	 * in a copy in which the processor may not execute the program's code: the mappings that the program may
	 * execute, as they were when shim_code_changes was code_changes
	 */
	struct xlate_range executable[XLATE_WRITABLE];
	unsigned nexecutable, code_changes;
	struct site sites[SITES];
	struct mark marks[MARKS];
	struct {
		uint64_t pc;
		uint8_t *code;
	} block[BLOCKS];
	uint32_t known_at[2 * REPORT_SITES]; /* by pc: 1 + the site */
	uint32_t call_at[2 * REPORT_CALLS]; /* the same, of xlate_calls.c */
};
_Static_assert(offsetof(struct xlate, flags) == 128 && offsetof(struct xlate, thunk) == 176, "the thunk's offsets");

#define GS(field) ((uint32_t)offsetof(struct xlate, field))

/* An exit: stores its number and jumps to the thunk, which calls leave(). */
void emit_exit(struct xlate *x, struct cache *c, enum site_kind kind, uint64_t pc);
/* A jump in place of an exit. */
void emit_jump_at(uint8_t *code, uint64_t to);
/* A plain instruction, or one that ends a block: emits code that does the same, except for the branch itself. */
void emit_plain(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void emit_return_address(struct cache *c, uint64_t pc);
/* two exits follow: for the condition being false, and true */
void emit_condition(struct cache *c, const uint8_t *p, const struct insn *i);
void emit_by(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void emit_ret(struct xlate *x, struct cache *c, const struct insn *i);
/* The recorder's own code is not translated; it returns to `back`. Changes no flag. */
void emit_native(struct xlate *x, struct cache *c, uint64_t pc);
/* The same, of a function of libc, whose address is in `by`. */
void emit_native_libc(struct xlate *x, struct cache *c);
/* After it: restores the stack as if the recorder had returned by itself. */
void emit_back(struct xlate *x, struct cache *c);
void xlate_note_back(const struct xlate *x); /* for xlate_was_back */
/* In place of the exit at s: counts, compares the filter's word, and mostly goes on at once. */
void emit_filter(struct xlate *x, struct cache *c, const struct site *s, const struct xlate_filter *f);

/*
 * After the instruction at `from`: has it changed a word that is watched? The instruction at pc is next. As
 * xlate_ops.changed; pc 0: the address in `by`.
 */
void emit_words(struct xlate *x, struct cache *c, uint64_t from, uint64_t pc);
/* From now on, the watched words are compared with their present values. */
void xlate_see_words(struct xlate *x);

/* Loads the word into rax, whose other bytes become 0. */
void xlate_put_load(struct cache *c, const struct xlate_word *w);

/*
 * xlate_fresh.c: code that can change without a system call. Finds the mappings that have such code, once; is pc in one
 * of them? At the start of a block, compares the len bytes at pc with what they are now, and leaves by SITE_STALE if
 * they differ. Changes no flag.
 */
void xlate_find_writable(struct xlate *x);
int xlate_is_writable(const struct xlate *x, uint64_t pc);
/* In a copy that reports: could the program execute the code at pc? */
int xlate_may_execute(struct xlate *x, uint64_t pc);
void emit_fresh(struct xlate *x, struct cache *c, uint64_t pc, uint64_t len);

/* Where the previous instruction was, as far as is known when the block is translated. */
enum emit_noted { EMIT_ANYWHERE, EMIT_OUTSIDE, EMIT_INSIDE };

/*
 * xlate_report.c: the entries of a report (rlog/report.h). Before a block at pc: is there room for all its entries?
 * Before and after the instruction at p; after a call of the recorder.
 */
void xlate_see_report(struct xlate *x); /* the report is known now */
void emit_report_room(struct xlate *x, struct cache *c, uint64_t pc);
void emit_report(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void emit_report_after(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
/* Emitted after a block. */
void emit_report_cold(struct xlate *x, struct cache *c);
void emit_report_back(struct xlate *x, struct cache *c);
/* The arguments of a call of the recorder, if they are wanted; pc: see REPORT_ARGS. */
void emit_report_native(struct xlate *x, struct cache *c, uint64_t pc);

/*
 * xlate_flags.c: finds the instructions of a block, of at most `most`, before which nothing needs the flags as they
 * are.
 */
void xlate_find_flags(struct xlate *x, uint64_t pc, unsigned most);
static inline int xlate_flags_are_dead(const struct xlate *x)
{
	return (int)(x->dead_flags >> x->at & 1);
}

/* xlate_known.c: emitted before the first block of a cache. */
void emit_known_stubs(struct xlate *x, struct cache *c);

/* xlate_fault.c: notes that the code at the cursor does what the instruction at p does. */
void emit_mark(struct xlate *x, const struct cache *c, const uint8_t *p);

/* Counts arrivals, before the instruction at pc. */
void emit_arrivals(struct xlate *x, struct cache *c, uint64_t pc, const struct insn *i, enum emit_noted *noted);

#endif
