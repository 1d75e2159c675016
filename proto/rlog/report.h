/* SPDX-License-Identifier: MIT */
/*
 * report.h: what a copy of a replaying process reports to the worker while it goes through a segment: accesses to
 * memory, calls and returns (written by translated code, walk.h), changes of the heap (written by the recorder's
 * malloc), and what synchronises threads (written where an event is compared with its record). Freestanding.
 *
 * The worker maps memory in the copy, puts struct replay_report at its start, and its address into the word at
 * replay_ctl.report_addr. Entries follow in the order of execution. An entry is some 64-bit words; the first one holds
 * its kind in the highest byte, and below that the address of the instruction.
 */
#ifndef FRED_RLOG_REPORT_H
#define FRED_RLOG_REPORT_H

#include <stdint.h>

#define REPORT_KIND_SHIFT 56
#define REPORT_PC_MASK ((1ull << REPORT_KIND_SHIFT) - 1)

/*
 * X(name, words of the entry). A new kind comes last, and is only written if the worker knows it (report_knows): an
 * older worker takes an unknown kind for damage. The same is true if a known kind is to be written for more
 * instructions than before.
 */
#define REPORT_KINDS(X)                                                                                                \
	X(ACCESS,                                                                                                      \
	  2) /* address: of the operand in memory, without FS or GS; of EVEX, with an 8-bit displacement unscaled */   \
	X(MASK, 2) /* opmask register of the access that comes next */                                                 \
	X(STRING, 4) /* before a string instruction: rdi, rsi, rcx */                                                  \
	X(STRING_END, 4) /* and after it */                                                                            \
	X(CALL, 2) /* before a call: the stack pointer */                                                              \
	X(RET, 2) /* the address of the return address; PC 0: the recorder returns */                                  \
	X(ALLOC, 3) /* instead of an address: REPORT_BLOCK_...; block, bytes asked for */                              \
	X(FREE, 2) /* block */                                                                                         \
	X(RESIZE, 3) /* as of ALLOC: block, bytes: as many are the program's now */                                    \
	X(ALIGN, 3) /* block just allocated, the address in it that the program gets; the bytes end where they did */  \
	X(SYNC, 3) /* the kind of a record (rlog.h) instead of an address; the object that it is about, 0: none; its   \
		      first operand, of COND_WAIT the mutex */                                                         \
	X(EVENT, 2) /* its number: it is done, and what follows is after it */                                         \
	X(INSN, 2) /* if `every`: before each instruction, and before its other entries: the stack pointer */          \
	X(ARGS, 8) /* if `args`: after the other entries of a call or jump by memory, and before a call of the         \
		      recorder, of which it has the function's address: rdi, rsi, rdx, rcx, r8, r9, rsp */             \
	X(RESULT, 2) /* if `args`: before RET: rax */                                                                  \
	X(VALUES, 3) /* if `every`: of add, or, adc, sbb, and, sub, xor, cmp, test, inc, dec, bsf, bsr, bt of a        \
			register, and shifts by cl: the operand that the ModRM byte names in its lower half, in memory \
			or as a whole register, and the other register; of cmov: whether it moves */                   \
	X(WRITTEN, 3) /* the recorder has written outputs of a system call, or libc a line: where, bytes */            \
	X(LOADED, 5) /* instead of an address: how many bytes, at most 32; what the last ACCESS reads: its next bytes, \
			of instructions in [loaded_lo, loaded_hi) that read numbers or vectors */                      \
	X(VECTOR, 9) /* instead of an address: enum replay_report_vector; that register of the access that comes next, \
			whose operand is told without indices; with VEX the lower 32 bytes */                          \
	X(PASS, 3) /* if REPORT_NEW: as ACCESS; and how often the instruction has been executed in this segment */     \
	X(READ, 3) /* what the recorder tells of reads for the program; instead of an address: 0: by a system call,    \
		      1: by libc in a call of the recorder; then where, and how many bytes */                          \
	X(CALLED, 4) /* of REPORT_SHADOW, as CALL: how often the instruction has been executed in this segment; the    \
			stack pointer; `called` before. If nothing else is told until it returns, it is taken back. */ \
	X(STANDS, 3) /* of REPORT_SHADOW, before an access or a string instruction; instead of an address: 0; the      \
			stack pointer, and how many calls and returns of this segment have no entries */               \
	X(CHECKED, 1) /* never written: who knows it has `check_at`, or looks for it */

enum replay_report_kind {
#define X(name, words) REPORT_##name,
	REPORT_KINDS(X)
#undef X
		REPORT_KIND_COUNT
};

enum replay_report_vector {
	REPORT_VECTOR_INDEX = 0,
	REPORT_VECTOR_MASK,
	/* if `every`: of pand, pandn, por, andps and the like, and pshufb, the first and the second source */
	REPORT_VECTOR_FIRST,
	REPORT_VECTOR_SECOND,
	REPORT_VECTORS
};

#define REPORT_ARG_REGS 7 /* registers of ARGS */
#define REPORT_LOADED_BYTES 32u /* the most bytes of LOADED */

/* Properties of a block that is allocated. */
#define REPORT_BLOCK_ZERO 1u /* its bytes are 0 */
/* the recorder's own call allocated it, and not the program's translated code */
#define REPORT_BLOCK_INNER 2u
#define REPORT_BLOCK_MOVED 4u /* the bytes of the block that is freed next are copied into it */

/* Which accesses have entries. If `args`, so have those of calls and jumps whose arguments are reported. */
enum replay_report_filter {
	REPORT_ALL = 0, /* all; then all arguments and results are reported, too */
	REPORT_HEAP, /* in the lower part of the heap's arenas (REPORT_HEAP_PART), or with operands of unknown size */
	/* of those, the ones that are not, according to the shadow, wholly in memory of the program's blocks */
	REPORT_SHADOW,
	REPORT_ONLY, /* those of the instructions in `only` */
	REPORT_NEW, /* those that are not known yet: struct replay_known */
};
#define REPORT_FILTERS_NEW 2u /* replay_ctl.report_filters, from here on: of REPORT_NEW, too */

/* Is addr in the part of the arenas that a filter knows? That is all of it, for threads below REPORT_HEAP_THREADS. */
#define REPORT_HEAP_BIT 45
#define REPORT_HEAP_PART(addr) (((addr) >> REPORT_HEAP_BIT & 3) == 1)
/* The shadow has a byte for 8 of that part: not 0 if the program may access all of them. */
#define REPORT_SHADOW_INDEX(addr) (((addr) & ((1ull << REPORT_HEAP_BIT) - 1)) >> 3)
#define REPORT_SHADOW_BYTES (1ull << (REPORT_HEAP_BIT - 3))
#define REPORT_ONLY_MAX 63u
#define REPORT_KINDS_MAX 256u /* a kind is one byte */

/* [lo, hi) */
struct replay_report_code {
	uint64_t lo, hi;
};

#define REPORT_CODES_SPARE 256u

struct replay_report {
	uint64_t cur; /* the address of the next entry */
	uint64_t full; /* from here on translated code stops, for the worker to take the entries out */
	uint64_t end; /* the end of the memory; entries that have no room are lost */
	uint64_t lost; /* how many entries were lost */
	uint64_t every; /* not 0: each instruction has an entry; must not change afterwards */
	uint64_t args; /* not 0: arguments and results of calls are reported; must not change afterwards */
	/* values that are loaded by code in this range are reported; must not change afterwards; 0: none */
	uint64_t loaded_lo, loaded_hi;
	uint64_t filter; /* enum replay_report_filter; must not change afterwards */
	uint64_t accesses; /* with a filter: the number of all accesses, also those without entries */
	uint64_t onlys, only[REPORT_ONLY_MAX];
	uint64_t kinds; /* REPORT_KIND_COUNT of the worker; an older one: 0, or the last of 64 in `only` */
	/*
	 * With a filter, arguments and results are reported of calls and jumps by words at these fixed addresses (an
	 * array, in ascending order). Of such calls inside each other, the outermost one's result is reported.
	 */
	uint64_t words, word_at;
	/* the stack pointer at such a call that has not returned, where its return address is; 0: there is none */
	uint64_t called_sp;
	/*
	 * The program's code, an array: the processor may not execute it in this copy, but translated code may
	 * (visibility/program_code.h). The recorder keeps it when the program maps files, or changes rights.
	 */
	uint64_t codes, codes_max, code_at;
	/*
	 * The end of the last CALLED that has not been taken back; the worker sets it to 0 when it takes entries out.
	 */
	uint64_t called;
	/*
	 * Of REPORT_SHADOW: a byte for each of `words`, REPORT_CHECK_...: which memory a call by this word accesses. If
	 * that is wholly the program's, or elsewhere, the call has no entries, and libc's code is executed as it is. 0:
	 * there is no such array; such a byte: that is not known.
	 */
	uint64_t check_at;
};

/* The memory at the first argument: as many characters as the third one says. */
#define REPORT_CHECK 1u
#define REPORT_CHECK_TWO 2u /* and at the second one, which in strings is no limit then */
#define REPORT_CHECK_STRINGS 4u /* they end with a 0 */
#define REPORT_CHECK_WITHIN 8u /* or after so many characters as the argument after them says */
#define REPORT_CHECK_APART 16u /* they must not overlap */
#define REPORT_CHECK_LIMITED 32u /* if there are more bytes than the fourth argument, libc ends the program */
#define REPORT_CHECK_WIDE 64u /* characters of 4 bytes */
#define REPORT_CHECK_EARLY 128u /* it may be done before the end of an area */

static inline int report_knows(const struct replay_report *r, enum replay_report_kind kind)
{
	return r->kinds > kind && r->kinds <= REPORT_KINDS_MAX;
}

/*
 * Of REPORT_SHADOW, at REPLAY_KNOWN_ADDR in the copy: how often the calls at pc[] have been executed in this segment.
 * `used`: not 0 where one of REPORT_CALLS_USED of them has been.
 */
#define REPORT_CALLS 65536u /* others have CALL */
#define REPORT_CALLS_USED 64u

struct replay_calls {
	uint64_t n; /* how many of these there are */
	uint64_t none; /* calls and returns that have no entries: see STANDS */
	uint8_t used[REPORT_CALLS / REPORT_CALLS_USED];
	uint64_t passes[REPORT_CALLS];
	uint64_t pc[REPORT_CALLS];
};

/* Are calls taken back by their returns? */
static inline int report_has_calls(const struct replay_report *r)
{
	return r->filter == REPORT_SHADOW && report_knows(r, REPORT_STANDS);
}

/*
 * Of REPORT_NEW: which accesses are known, at this address in the copy. An access is known if the thread has made the
 * same one (address, bytes, direction), or has written there what it reads now, in the same epoch. An epoch ends with
 * an event or SYNC, with ALLOC of more than a few bytes, and with what may order threads: an instruction with a lock
 * prefix, or one that writes, other than to a stack, as long as `orders` of it is not 0.
 *
 * Which instructions' accesses may be left out at all is the worker's to say, at any time: it sets `mask` to `wants`.
 */
#define REPORT_SITES 32768u /* instructions; others have an ACCESS each time, and are as if `orders` were set */
#define REPORT_EPOCH_BIT 47 /* epochs are multiples of this bit */
#define REPORT_EPOCHS (1u << 15) /* then all is forgotten, when the entries have been taken out */
#define REPORT_KNOWN_SIZES 7 /* 1 to 64 bytes */
#define REPORT_KNOWN_BITS 20
#define REPORT_KNOWN (1u << REPORT_KNOWN_BITS)

struct replay_known {
	uint64_t sites; /* how many of these there are */
	uint64_t head[REPORT_SITES]; /* the first word of its entries */
	/* the bits of an address that say where in `is` the access would be; 0: nowhere */
	uint64_t wants[REPORT_SITES];
	uint64_t mask[REPORT_SITES]; /* as wants; 0: has an entry each time, and is not put there */
	uint64_t orders[REPORT_SITES]; /* not 0: it may be a write that orders threads */
	uint64_t stacks[REPORT_SITES]; /* not 0: its writes to a stack are as if `mask` were set */
	uint64_t passes[REPORT_SITES]; /* in this segment */
	uint64_t epoch, minus_epoch; /* its negative */
	uint64_t one_epoch, stack_bits; /* constants */
	uint64_t bits[REPORT_KNOWN_SIZES]; /* what wants can be */
	uint64_t used[2][REPORT_KNOWN_SIZES]; /* not 0: something was put into this table */
	/* Reads, writes: the epoch minus the address. Place 0 is always 0. Whole pages, to be forgotten at once. */
	uint64_t is[2][REPORT_KNOWN_SIZES][REPORT_KNOWN] __attribute__((aligned(4096)));
};

#endif
