/* SPDX-License-Identifier: MIT */
/*
 * unwritten.h: which bits of memory and registers were never written: of blocks of the heap as malloc returns them, and
 * of stack frames as they begin. They are followed through copies and computations (Memcheck's definedness: Seward and
 * Nethercote, USENIX 2005), and reported only where they decide a branch or an address.
 *
 * If it is not known what becomes of them, they count as written, so that nothing wrong is reported.
 */
#ifndef FRED_UNWRITTEN_UNWRITTEN_H
#define FRED_UNWRITTEN_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "insn/flow.h"

#define UNWRITTEN_BYTES 64 /* the largest operand */
#define UNWRITTEN_RED_ZONE 128

/* ---- memory ---- */

/* A byte for each byte of memory: bits that were never written are set. And where those come from, for each four. */
struct unwritten_page {
	uint64_t key; /* address / 4096 + 1 */
	uint8_t *bits; /* NULL: all are as `all` says */
	uint32_t *origin;
	bool all;
	uint32_t all_origin;
};

struct unwritten_memory {
	struct table pages; /* of struct unwritten_page */
	uint64_t last; /* the page that was asked for last */
	struct unwritten_page *last_page; /* NULL: there is none */
};

void unwritten_memory_init(struct unwritten_memory *m);
void unwritten_memory_fini(struct unwritten_memory *m);
/*
 * *bits: those of [addr, addr + len), at most UNWRITTEN_BYTES, that were never written. Are there any? Then *origin is
 * that of the first.
 */
bool unwritten_load(struct unwritten_memory *m, uint64_t addr, unsigned len, uint8_t *bits, uint32_t *origin);
void unwritten_store(struct unwritten_memory *m, uint64_t addr, unsigned len, const uint8_t *bits, uint32_t origin);
/* Marks all of it as never written, or as written. */
void unwritten_fill(struct unwritten_memory *m, uint64_t addr, uint64_t len, bool never, uint32_t origin);
void unwritten_copy(struct unwritten_memory *m, uint64_t to, uint64_t from, uint64_t len);
/* The first byte of the range of which a bit was never written; *origin: its. false: there is none. */
bool unwritten_find(struct unwritten_memory *m, uint64_t addr, uint64_t len, uint64_t *at, uint32_t *origin);

/* ---- registers ---- */

struct unwritten_thread {
	uint64_t dirty; /* registers with such bits, numbered as insn.h does */
	uint64_t reg[16];
	uint16_t flags; /* FLOW_.. */
	uint8_t vector[32][UNWRITTEN_BYTES];
	uint32_t origin[INSN_FLAGS + 1];
};

enum unwritten_use { UNWRITTEN_BRANCH, UNWRITTEN_ADDRESS, UNWRITTEN_OUTPUT };

struct unwritten_access {
	uint64_t addr, len;
	bool reads, writes;
};
#define UNWRITTEN_ACCESSES 2

/* An instruction that was executed. */
struct unwritten_done {
	const struct insn_flow *flow;
	struct unwritten_access access[UNWRITTEN_ACCESSES];
	unsigned n; /* accesses; those to the stack by push, pop and call are not among them */
	uint64_t sp, next_sp; /* before and after it */
	uint64_t operand, other; /* values: what its ModRM byte names in its lower half, and the other register */
	bool has_values;
	const uint8_t *vector[2]; /* values of src[0] and src[1], UNWRITTEN_BYTES each; NULL: not known */
};

struct unwritten {
	struct unwritten_memory memory;
	struct unwritten_thread **threads; /* by ordinal; NULL: it has not been seen */
	void (*uses)(void *ctx, enum unwritten_use use, uint32_t origin);
	void *ctx;
};

void unwritten_init(struct unwritten *u, void (*uses)(void *ctx, enum unwritten_use use, uint32_t origin), void *ctx);
void unwritten_fini(struct unwritten *u);
struct unwritten_thread *unwritten_thread_new(struct unwritten *u, uint32_t thread);
static inline struct unwritten_thread *unwritten_thread(struct unwritten *u, uint32_t thread)
{
	return u->threads[thread] ? u->threads[thread] : unwritten_thread_new(u, thread);
}
/* frame: the origin of what becomes part of the stack by this instruction. */
void unwritten_execute(struct unwritten *u, uint32_t thread, const struct unwritten_done *d, uint32_t frame);
/* A function that is not followed has returned: registers that it may change count as written. */
void unwritten_returned(struct unwritten *u, uint32_t thread);
/* The stack pointer has moved from one value to another, by something that was not told. */
void unwritten_jumped(struct unwritten *u, uint64_t from, uint64_t to);

#endif
