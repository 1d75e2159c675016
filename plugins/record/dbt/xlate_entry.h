/* SPDX-License-Identifier: MIT */
/* xlate_entry.h: how translated code writes an entry of a report (rlog/report.h). It changes no flag. */
#ifndef FRED_RECORD_XLATE_ENTRY_H
#define FRED_RECORD_XLATE_ENTRY_H

#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_put.h"

#define LEA 0x8d
#define MODRM_RCX (1 << 3)
#define ADDR32 0x67
#define NO_INDEX 0x20 /* no index in a SIB byte */

static inline struct replay_report *report_of(const struct xlate *x)
{
	return x->count ? x->count->report : 0;
}

/* Memory within 2 GiB of struct xlate is accessed through GS. */
static inline uint32_t distance(struct xlate *x, uint64_t addr)
{
	int64_t d = (int64_t)(addr - (uint64_t)x);

	x->failed |= d != (int32_t)d;
	return (uint32_t)d;
}

/* mov cur, %rax, or back */
static inline void put_cur(struct xlate *x, struct cache *c, uint8_t op)
{
	put_gs(c, op, RAX, distance(x, (uint64_t)&report_of(x)->cur));
}

/* Stores rcx as word `at` of the entry to which rax points. */
static inline void put_word(struct cache *c, unsigned at)
{
	const uint8_t b[] = {0x48, 0x89, 0x48, (uint8_t)(at * 8)};

	put(c, b, sizeof(b));
}

static inline void put_head(struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
	put64(c, (uint64_t)kind << REPORT_KIND_SHIFT | pc);
	put_word(c, 0);
}

/* Ends the entry, which has this many words. */
static inline void end(struct xlate *x, struct cache *c, unsigned words)
{
	const uint8_t lea[] = {0x48, LEA, 0x40, (uint8_t)(words * 8)}; /* lea N(%rax), %rax */

	put(c, lea, sizeof(lea));
	put_cur(x, c, STORE);
	restore_rax_rcx(c);
}

/* An entry whose second word is in rcx already. */
static inline void finish_two(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	put_cur(x, c, LOAD);
	put_word(c, 1);
	put_head(c, kind, pc);
	end(x, c, 2);
}

/* Adjusts a RIP-relative address, with which the emitted code ends: it means the same as in the original. */
static inline void adjust_operand(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int64_t from_here;
	int32_t d;

	if (!i->rip_at)
		return;
	from_here = (int64_t)(insn_rip_target(p, i) - (uint64_t)c->cur);
	x->failed |= from_here != (int32_t)from_here;
	d = (int32_t)from_here;
	memcpy(c->cur - sizeof(d), &d, sizeof(d));
}

/* In xlate_vectors.c. Is it a gather or scatter, with a vector of indices? */
int xlate_is_gather(const uint8_t *p, const struct insn *i);

/* lea OPERAND, %rcx; of gathers without the indices */
static inline void xlate_put_lea(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int gather = xlate_is_gather(p, i);
	const uint8_t b[] = {(uint8_t)(0x48 | (insn_extension(p, i) & (gather ? 1 : 3))), LEA,
			     (uint8_t)((p[i->modrm_at] & 0xc7) | MODRM_RCX)};
	unsigned to = i->imm_at ? i->imm_at : i->len;

	for (const uint8_t *q = p; q < p + i->op_at - i->vex; q++)
		if (*q == ADDR32)
			put(c, q, 1);
	put(c, b, sizeof(b));
	put(c, p + i->modrm_at + 1, to - i->modrm_at - 1u);
	if (gather)
		c->cur[i->modrm_at + 1 - (int)to] = (uint8_t)((p[i->modrm_at + 1] & 0xc7) | NO_INDEX);
	adjust_operand(x, c, p, i);
}

/* Through GS: pext MASK, %rcx, %rcx: extracts the mask's bits. No flag is changed. */
static inline void put_pext(struct cache *c, uint32_t mask)
{
	BYTES(c, 0x65, 0xc4, 0xe2, 0xf2, 0xf5, 0x0c, 0x25);
	put32(c, mask);
}

static inline int xlate_has_operand(const uint8_t *p, const struct insn *i)
{
	if (!i->modrm_at || p[i->modrm_at] >> 6 == 3)
		return 0;
	if (i->vex)
		return 1;
	/* lea; prefetches and nops */
	return i->map == 0 ? i->op != LEA : i->map == 1 ? i->op != 0x0d && (i->op & 0xf8) != 0x18 : 1;
}

/*
 * xlate_known.c: begins a new table of known accesses, or goes on with it. An access, with an entry if it is not known.
 * After the entry of an access without a site: it may order threads.
 */
void xlate_see_known(struct xlate *x);
void xlate_put_known(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void xlate_put_orders(struct xlate *x, struct cache *c);

/*
 * xlate_calls.c: is it a call or jump through memory whose arguments are to be reported? Reports them; notes where its
 * return address will be; reports the result before a return.
 */
int xlate_has_args(const struct xlate *x, const uint8_t *p, const struct insn *i);
void xlate_put_args(struct xlate *x, struct cache *c, uint64_t pc);
/*
 * Also there: in front of all that the call or jump at p tells: where it accesses only what it may (REPORT_CHECK), it
 * is executed here, natively, and tells nothing.
 */
void xlate_put_checked(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void xlate_put_called(struct cache *c, const struct insn *i);
void xlate_put_result(struct xlate *x, struct cache *c, uint64_t pc);

/*
 * xlate_calls.c, too: goes on with the counts of an earlier translator, if returns remove entries of calls. An entry
 * whose second word is the stack pointer; the entries of a call and of a return. STANDS, if the worker needs that.
 */
void xlate_see_calls(struct xlate *x);
void xlate_put_sp(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc);
void xlate_put_call(struct xlate *x, struct cache *c, uint64_t pc);
void xlate_put_ret(struct xlate *x, struct cache *c, uint64_t pc);
void xlate_put_stands(struct xlate *x, struct cache *c);

/*
 * xlate_shadow.c: an entry of ACCESS; and, for an operand of this many bytes, an entry unless the filter leaves it out.
 */
void xlate_put_plain(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
void xlate_put_filtered(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes);

/* xlate_vectors.c: entries, before that of the access, for the vector registers that determine what it accesses. */
void xlate_put_vectors(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);
/* Entries for the vectors that the instruction reads, if their values matter. */
void xlate_put_vector_values(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);

/* xlate_values.c: is there an entry for the numbers with which the instruction computes? That entry. */
int xlate_has_values(const struct xlate *x, const uint8_t *p, const struct insn *i);
void xlate_put_values(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i);

#endif
