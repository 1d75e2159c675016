/* SPDX-License-Identifier: MIT */
/*
 * xlate_shadow.c: translated code that leaves out entries of accesses: of operands that are not in the heap's arenas,
 * or that the shadow of the heap (rlog/report.h) has as wholly inside the program's blocks. The shadow is looked at for
 * the operand's first byte, for each 16th and for its last one, since there are 16 bytes or more between blocks.
 *
 * The entry itself is written behind the block. Where the flags are needed, what is 0 is found by jrcxz.
 */
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate_entry.h"

#define STEP 16u
#define CHECKED_MAX 32u /* bytes */
_Static_assert(CHECKED_MAX / STEP + 1 <= COLD_JUMPS, "so many places are looked at");
#define JE 0x84
#define JNE 0x85
#define ARENA_SHIFT (64 - REPORT_HEAP_BIT)
_Static_assert(REPORT_HEAP_PART(1ull << REPORT_HEAP_BIT) && !REPORT_HEAP_PART(2ull << REPORT_HEAP_BIT),
	       "the bits above REPORT_HEAP_BIT are 1");

static struct cold *begin(struct xlate *x, const uint8_t *p)
{
	struct cold *k = &x->cold[x->ncold++];

	*k = (struct cold){.p = p};
	return k;
}

static void lead(uint8_t *jump, const uint8_t *to)
{
	put32(&(struct cache){.cur = jump - 4}, (uint32_t)(to - jump));
}

/* ---- where the flags are needed ---- */

/* Emits a jump to `cold`, if the shadow's byte for byte `from` of the operand is 0. */
static void put_look(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned from,
		     const uint8_t *cold)
{
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	xlate_put_lea(x, c, p, i);
	if (from) {
		BYTES(c, 0x48, LEA, 0x49); /* lea N(%rcx), %rcx */
		put(c, (const uint8_t[]){(uint8_t)from}, 1);
	}
	put_pext(c, GS(shadow_bits));
	BYTES(c, 0x65, 0x0f, 0xb6, 0x89); /* movzbl %gs:shadow(%rcx), %ecx */
	put32(c, distance(x, REPLAY_SHADOW_ADDR));
	BYTES(c, 0xe3); /* jrcxz */
	x->failed |= cold - (c->cur + 1) < INT8_MIN;
	put(c, (const uint8_t[]){(uint8_t)(cold - (c->cur + 1))}, 1);
}

static void put_long(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes)
{
	struct cold *k = begin(x, p);
	uint8_t *elsewhere, *cold;
	unsigned from;

	put_gs(c, STORE, RCX, GS(kept_rcx));
	xlate_put_lea(x, c, p, i);
	put_pext(c, GS(heap_bits));
	BYTES(c, 0x48, LEA, 0x49, 0xff); /* lea -1(%rcx), %rcx */
	BYTES(c, 0xe3, 2 * LONG_JUMP); /* jrcxz */
	elsewhere = c->cur;
	cold = elsewhere + LONG_JUMP;
	*cold = 0xe9; /* jmp */
	c->cur = cold + LONG_JUMP;
	k->jump[k->jumps++] = c->cur;
	if (report_of(x)->filter == REPORT_SHADOW && bytes <= CHECKED_MAX) {
		for (from = 0; from < bytes - 1; from += STEP)
			put_look(x, c, p, i, from, cold);
		put_look(x, c, p, i, bytes - 1, cold);
	} else {
		BYTES(c, 0xeb, (uint8_t)(-LONG_JUMP - 2)); /* jmp cold */
	}
	jumps_lead(&elsewhere, 1, c->cur);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	k->back = c->cur;
}

/* ---- where the flags are not needed ---- */

/* Returns the end of the displacement, for lead. */
static uint8_t *put_jump_if(struct cache *c, uint8_t op)
{
	const uint8_t b[] = {0x0f, op, 0, 0, 0, 0};

	put(c, b, sizeof(b));
	return c->cur;
}

/* Does the operand's address depend on rcx? */
static int uses_rcx(const uint8_t *p, const struct insn *i)
{
	unsigned m = p[i->modrm_at], extension = insn_extension(p, i), sib;

	if ((m & 7) != 4)
		return (m & 7) == RCX && !(extension & 1);
	sib = p[i->modrm_at + 1];
	return ((sib & 7) == RCX && !(extension & 1)) || ((sib >> 3 & 7) == RCX && !(extension & 2));
}

static void put_short_look(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned from,
			   struct cold *k)
{
	if (uses_rcx(p, i))
		put_gs(c, LOAD, RCX, GS(kept_rcx));
	xlate_put_lea(x, c, p, i);
	if (from) {
		BYTES(c, 0x48, 0x83, 0xc1); /* add $N, %rcx */
		put(c, (const uint8_t[]){(uint8_t)from}, 1);
	}
	BYTES(c, 0x48, 0xc1, 0xe1, ARENA_SHIFT, 0x48, 0xc1, 0xe9, ARENA_SHIFT + 3); /* shl and shr of rcx */
	BYTES(c, 0x65, 0x80, 0xb9); /* cmpb $0, %gs:shadow(%rcx) */
	put32(c, distance(x, REPLAY_SHADOW_ADDR));
	BYTES(c, 0);
	k->jump[k->jumps++] = put_jump_if(c, JE);
}

static void put_short(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes)
{
	struct cold *k = begin(x, p);
	uint8_t *elsewhere;

	put_gs(c, STORE, RCX, GS(kept_rcx));
	xlate_put_lea(x, c, p, i);
	BYTES(c, 0x48, 0xc1, 0xe9, REPORT_HEAP_BIT); /* shr of rcx */
	BYTES(c, 0x48, 0x83, 0xe9, 0x01); /* sub $1, %rcx */
	elsewhere = put_jump_if(c, JNE);
	for (unsigned from = 0; from < bytes - 1; from += STEP)
		put_short_look(x, c, p, i, from, k);
	put_short_look(x, c, p, i, bytes - 1, k);
	lead(elsewhere, c->cur);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	k->back = c->cur;
}

/* ---- all ---- */

void xlate_put_plain(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	keep_rax_rcx(c);
	xlate_put_lea(x, c, p, i);
	finish_two(x, c, REPORT_ACCESS, (uint64_t)p);
}

void xlate_put_filtered(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes)
{
	if (xlate_flags_are_dead(x) && report_of(x)->filter == REPORT_SHADOW && bytes <= CHECKED_MAX)
		put_short(x, c, p, i, bytes);
	else
		put_long(x, c, p, i, bytes);
}

void emit_report_cold(struct xlate *x, struct cache *c)
{
	struct insn i;

	for (unsigned n = 0; n < x->ncold; n++) {
		const struct cold *k = &x->cold[n];

		insn_decode(k->p, &i);
		for (unsigned j = 0; j < k->jumps; j++)
			lead(k->jump[j], c->cur);
		put_gs(c, LOAD, RCX, GS(kept_rcx));
		xlate_put_stands(x, c);
		xlate_put_plain(x, c, k->p, &i);
		emit_jump_at(c->cur, (uint64_t)k->back);
		c->cur += LONG_JUMP;
	}
	x->ncold = 0;
}
