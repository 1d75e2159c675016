/* SPDX-License-Identifier: MIT */
/*
 * xlate_report.c: translated code that reports what the program does (rlog/report.h): in front of an instruction, some
 * ten others write an entry. They change no flag, no register and none of the program's memory. Which accesses an
 * instruction makes, and of how many bytes, is the reader's to decode: an entry has its operand's address. Here the
 * size matters only where a filter leaves entries out, and is then known of the common instructions (insn_bytes.h).
 */
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_entry.h"

#include <cpuid.h>

#define RESTORE_RCX 9 /* bytes of put_gs */

/* The opmask register that selects which elements of the operand are accessed; 0: all are. */
static unsigned opmask(const uint8_t *p, const struct insn *i)
{
	return i->vex == EVEX_BYTES ? p[i->op_at - 1] & 7 : 0;
}

static void put_mask(struct xlate *x, struct cache *c, unsigned k)
{
	const uint8_t kmovq[] = {0xc4, 0xe1, 0xfb, 0x93, (uint8_t)(0xc8 | k)}; /* kmovq %k, %rcx */

	keep_rax_rcx(c);
	put(c, kmovq, sizeof(kmovq));
	finish_two(x, c, REPORT_MASK, 0);
}

static int is_string(const struct insn *i)
{
	return !i->vex && i->map == 0 && ((i->op >= 0xa4 && i->op <= 0xa7) || (i->op >= 0xaa && i->op <= 0xaf));
}

static void put_string(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
	BYTES(c, 0x48, 0x89, 0x78, 0x08); /* mov %rdi, 8(%rax) */
	BYTES(c, 0x48, 0x89, 0x70, 0x10); /* mov %rsi, 16(%rax) */
	put_word(c, 3);
	put_head(c, kind, pc);
	end(x, c, 4);
}

/* Is the operand's address in the instruction itself? */
static int is_absolute(const struct insn *i)
{
	return !i->vex && i->map == 0 && i->op >= 0xa0 && i->op <= 0xa3 && i->imm_len == 8;
}

/* ---- what is loaded ---- */

/* Bytes of a vector, including those that a mask leaves out; 0: one element is repeated. */
static unsigned vector_bytes(const uint8_t *p, const struct insn *i)
{
	if (i->vex == EVEX_BYTES)
		return p[i->op_at - 1] & 0x10 ? 0 : 16u << (p[i->op_at - 1] >> 5 & 3);
	return i->vex && p[i->op_at - 1] & 4 ? 32 : 16;
}

static unsigned of_numbers(const uint8_t *p, const struct insn *i)
{
	if (i->map == 0 && (i->op == 0x8a || i->op == 0x3a || i->op == 0x38 || i->op == 0x80)) /* mov, cmp */
		return 1;
	if (i->map == 0 && (i->op == 0x8b || i->op == 0x3b || i->op == 0x39))
		return insn_number_bytes(p, i);
	if (i->map == 1 && (i->op & 0xf6) == 0xb6) /* movzx, movsx */
		return i->op & 1 ? 2 : 1;
	/* movbe; with f2 it is crc32 */
	return i->map == 2 && i->op == 0xf0 && !insn_has_prefix(p, i, 0xf2) ? insn_number_bytes(p, i) : 0;
}

static unsigned of_vectors(const uint8_t *p, const struct insn *i)
{
	unsigned pp = insn_simd_prefix(p, i), all = vector_bytes(p, i);

	if (i->map == 1)
		switch (i->op) {
		case 0x10: /* movups and the like */
			return pp == INSN_PP_F3 ? 4 : pp == INSN_PP_F2 ? 8 : all;
		case 0x12: /* movlps, movhps */
		case 0x16:
			return pp == INSN_PP_NONE || pp == INSN_PP_66 ? 8 : 0;
		case 0x28: /* movaps */
			return all;
		case 0x6f: /* movdqa, movdqu */
			return pp == INSN_PP_NONE ? 0 : all;
		case 0x7e: /* movq */
			return pp == INSN_PP_F3 ? 8 : 0;
		case 0x74: /* pcmpeq, pminub, psubb, pand, pandn, por, pxor */
		case 0x75:
		case 0x76:
		case 0xda:
		case 0xdb:
		case 0xdf:
		case 0xeb:
		case 0xef:
		case 0xf8:
			return pp == INSN_PP_66 ? all : 0;
		default:
			return 0;
		}
	if (i->map == 2) /* ptest, pminud */
		return pp == INSN_PP_66 && (i->op == 0x17 || i->op == 0x3b) ? all : 0;
	/* pcmpistri and the like; vpcmpb, vpcmpd and their unsigned ones */
	if (i->map == 3 && pp == INSN_PP_66)
		return (i->op & 0xfc) == 0x60 || (i->vex == EVEX_BYTES && (i->op & 0xde) == 0x1e) ? all : 0;
	return 0;
}

/* How many bytes it reads, if their value is to be reported; 0: it is not. */
static unsigned loaded_bytes(const struct xlate *x, const uint8_t *p, const struct insn *i)
{
	const struct replay_report *r = report_of(x);
	unsigned n;

	if ((uint64_t)p < r->loaded_lo || (uint64_t)p >= r->loaded_hi || insn_has_prefix(p, i, FS_PREFIX) ||
	    insn_has_prefix(p, i, GS_PREFIX))
		return 0;
	if (opmask(p, i) && !x->can_filter)
		return 0;
	n = i->vex ? 0 : of_numbers(p, i);
	return n ? n : of_vectors(p, i);
}

/*
 * In EVEX, a displacement of 8 bits counts whole operands, of this many bytes: returns what is missing in the address
 * of put_lea.
 */
static int32_t scaled(const uint8_t *p, const struct insn *i, unsigned bytes)
{
	uint8_t modrm = p[i->modrm_at];

	if (i->vex != EVEX_BYTES || modrm >> 6 != 1)
		return 0;
	return (int8_t)p[i->modrm_at + ((modrm & 7) == 4 ? 2 : 1)] * (int32_t)(bytes - 1);
}

/* mov from(%rcx), %rcx, of at most 8 bytes; what is above becomes 0 */
static void put_load(struct cache *c, int32_t from, unsigned bytes)
{
	if (bytes == 1)
		BYTES(c, 0x0f, 0xb6);
	else if (bytes == 2)
		BYTES(c, 0x0f, 0xb7);
	else if (bytes == 4)
		BYTES(c, LOAD);
	else
		BYTES(c, 0x48, LOAD);
	BYTES(c, 0x89);
	put32(c, (uint32_t)from);
}

/*
 * Memory that a mask leaves out need not exist. So for operands that reach into another page, emits a jump over the
 * loads, whose target is set later. After it, and before its target, the registers are the program's.
 */
static uint8_t *put_same_page(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes)
{
	uint8_t *jump;

	keep_rax_rcx(c);
	xlate_put_lea(x, c, p, i);
	BYTES(c, 0x48, LEA, 0x89); /* lea N(%rcx), %rcx */
	put32(c, (uint32_t)scaled(p, i, bytes));
	BYTES(c, 0x48, LEA, 0x81); /* lea N(%rcx), %rax */
	put32(c, bytes - 1);
	put_pext(c, GS(page_bit));
	BYTES(c, 0x48, 0x91); /* xchg %rax, %rcx */
	put_pext(c, GS(page_bit));
	BYTES(c, 0x48, 0xf7, 0xd0); /* not %rax */
	BYTES(c, 0x48, LEA, 0x40, 0x01); /* lea 1(%rax), %rax */
	BYTES(c, 0x48, LEA, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
	put_gs(c, LOAD, RAX, GS(kept_rax));
	BYTES(c, 0xe3, RESTORE_RCX + LONG_JUMP); /* jrcxz */
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	jump = c->cur;
	c->cur += LONG_JUMP;
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	return jump;
}

static void put_loaded(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, unsigned bytes)
{
	uint8_t *other = bytes && opmask(p, i) ? put_same_page(x, c, p, i, bytes) : 0;

	for (unsigned from = 0; from < bytes; from += REPORT_LOADED_BYTES) {
		unsigned n = bytes - from < REPORT_LOADED_BYTES ? bytes - from : REPORT_LOADED_BYTES;

		keep_rax_rcx(c);
		xlate_put_lea(x, c, p, i);
		put_cur(x, c, LOAD);
		put_word(c, 0);
		for (unsigned k = 0; k < n; k += 8) {
			BYTES(c, 0x48, LOAD, 0x08); /* mov (%rax), %rcx */
			put_load(c, scaled(p, i, bytes) + (int32_t)(from + k), n - k < 8 ? n - k : 8);
			put_word(c, 1 + k / 8);
		}
		put_head(c, REPORT_LOADED, n);
		end(x, c, 5);
	}
	if (other)
		jumps_lead(&other, 1, c->cur);
}

/* ---- is there room? ---- */

/* pext changes no flag. */
int xlate_can_filter(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_BMI2);
}

void xlate_see_report(struct xlate *x)
{
	const struct replay_report *r = report_of(x);

	/* the report begins at a multiple of a larger power of two */
	x->full_bits = (REPLAY_XLATE_ADDR - REPLAY_REPORT_ADDR) - (r->full - (uint64_t)r);
	x->report_full = r->full;
	x->can_filter = xlate_can_filter();
	x->heap_bits = 3ull << REPORT_HEAP_BIT;
	x->shadow_bits = (1ull << REPORT_HEAP_BIT) - 8;
	x->sign_bit = 1ull << 63;
	x->page_bit = 1ull << 12;
	x->called = r->called_sp ? ~r->called_sp : 0;
	if (r->filter == REPORT_NEW)
		xlate_see_known(x);
	if (report_has_calls(r))
		xlate_see_calls(x);
}
_Static_assert(!(REPLAY_REPORT_ADDR % (REPLAY_XLATE_ADDR - REPLAY_REPORT_ADDR)), "bits of `cur` say how full it is");

/* Tests for room and adds up accesses, where flags may be changed. */
static void put_short_room(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *room;

	if (report_of(x)->filter) {
		BYTES(c, 0x65, 0x48, 0x81, 0x04, 0x25); /* addq $N, %gs: */
		put32(c, distance(x, (uint64_t)&report_of(x)->accesses));
		x->accesses = c->cur;
		put32(c, 0);
	}
	BYTES(c, 0x65, 0xf7, 0x04, 0x25); /* testl $N, %gs: */
	put32(c, distance(x, (uint64_t)&report_of(x)->cur));
	put32(c, (uint32_t)x->full_bits);
	BYTES(c, 0x74, 0); /* je */
	room = c->cur;
	emit_exit(x, c, SITE_FULL, pc);
	x->sites[x->nsites - 1].code = c->cur;
	room[-1] = (uint8_t)(c->cur - room);
}

/* Adds up the number of accesses of the block, which is known when the block has been translated. */
static void put_accesses(struct xlate *x, struct cache *c)
{
	uint32_t at = distance(x, (uint64_t)&report_of(x)->accesses);

	put_gs(c, LOAD, RCX, at);
	BYTES(c, 0x48, LEA, 0x89); /* lea N(%rcx), %rcx */
	x->accesses = c->cur;
	put32(c, 0);
	put_gs(c, STORE, RCX, at);
}

static void count_access(struct xlate *x)
{
	uint32_t n;

	if (!x->accesses)
		return;
	memcpy(&n, x->accesses, sizeof(n));
	n++;
	memcpy(x->accesses, &n, sizeof(n));
}

/* Uses a comparison, so the flags have to be kept. */
static void put_room(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *below;

	keep_flags(c);
	put_cur(x, c, LOAD);
	put_gs(c, COMPARE, RAX, GS(report_full));
	BYTES(c, 0x72, 0); /* jb */
	below = c->cur;
	restore_flags(c);
	emit_exit(x, c, SITE_FULL, pc);
	x->sites[x->nsites - 1].code = c->cur;
	keep_flags(c);
	below[-1] = (uint8_t)(c->cur - below);
	restore_flags(c);
}

void emit_report_room(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *room;

	x->accesses = 0;
	if (!report_of(x))
		return;
	if (!x->can_filter) {
		put_room(x, c, pc);
		return;
	}
	if (xlate_flags_are_dead(x)) {
		put_short_room(x, c, pc);
		return;
	}
	put_gs(c, STORE, RCX, GS(kept_rcx));
	if (report_of(x)->filter)
		put_accesses(x, c);
	put_gs(c, LOAD, RCX, distance(x, (uint64_t)&report_of(x)->cur));
	put_pext(c, GS(full_bits));
	BYTES(c, 0xe3, 0); /* jrcxz */
	room = c->cur;
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	emit_exit(x, c, SITE_FULL, pc);
	x->sites[x->nsites - 1].code = c->cur;
	room[-1] = (uint8_t)(c->cur - room);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
}

/* ---- which accesses have entries ---- */

static int is_only(const struct replay_report *r, uint64_t pc)
{
	for (uint64_t k = 0; k < r->onlys && k < REPORT_ONLY_MAX; k++)
		if (r->only[k] == pc)
			return 1;
	return 0;
}

/* Is it certain at translation that it accesses no block of the heap? */
static int is_never_heap(const uint8_t *p, const struct insn *i)
{
	return i->rip_at ? !REPORT_HEAP_PART(insn_rip_target(p, i)) : insn_has_prefix(p, i, FS_PREFIX);
}

static void put_access(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	const struct replay_report *r = report_of(x);
	unsigned loaded = loaded_bytes(x, p, i), bytes = insn_operand_bytes(p, i);

	count_access(x);
	if (r->filter == REPORT_ONLY) {
		if (!is_only(r, (uint64_t)p))
			return;
	} else if (r->filter == REPORT_NEW) {
		xlate_put_known(x, c, p, i);
		return;
	} else if (r->filter && !loaded && !xlate_has_args(x, p, i)) {
		if (is_never_heap(p, i))
			return;
		if (bytes) {
			xlate_put_filtered(x, c, p, i, bytes);
			return;
		}
	}
	if (!loaded) /* for what libc reads, hits are not wanted */
		xlate_put_stands(x, c);
	xlate_put_plain(x, c, p, i);
	put_loaded(x, c, p, i, loaded);
}

/* ---- all ---- */

void emit_report_native(struct xlate *x, struct cache *c, uint64_t pc)
{
	if (report_of(x) && report_of(x)->args && !report_of(x)->filter)
		xlate_put_args(x, c, pc);
}

void emit_report(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	if (!report_of(x) || i->kind == INSN_STOP)
		return;
	xlate_put_checked(x, c, p, i);
	if (report_of(x)->every)
		xlate_put_sp(x, c, REPORT_INSN, (uint64_t)p);
	if (report_of(x)->every && xlate_has_values(x, p, i))
		xlate_put_values(x, c, p, i);
	if (report_of(x)->every)
		xlate_put_vector_values(x, c, p, i);
	if (is_string(i)) {
		count_access(x);
		xlate_put_stands(x, c);
		put_string(x, c, REPORT_STRING, (uint64_t)p);
		return;
	}
	if (opmask(p, i) && xlate_has_operand(p, i))
		put_mask(x, c, opmask(p, i));
	if (xlate_has_operand(p, i)) {
		xlate_put_vectors(x, c, p, i);
		put_access(x, c, p, i);
	} else if (is_absolute(i)) {
		xlate_put_stands(x, c);
		keep_rax_rcx(c);
		BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
		put(c, p + i->imm_at, 8);
		finish_two(x, c, REPORT_ACCESS, (uint64_t)p);
		if (report_of(x)->filter == REPORT_NEW)
			xlate_put_orders(x, c);
	}
	if (i->kind == INSN_RET && report_of(x)->args)
		xlate_put_result(x, c, (uint64_t)p);
	if (i->kind == INSN_CALL || i->kind == INSN_CALL_BY)
		xlate_put_call(x, c, (uint64_t)p);
	if (i->kind == INSN_RET)
		xlate_put_ret(x, c, (uint64_t)p);
	if (!xlate_has_args(x, p, i))
		return;
	xlate_put_args(x, c, (uint64_t)p);
	if (report_of(x)->filter)
		xlate_put_called(c, i);
}

void emit_report_after(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	if (report_of(x) && is_string(i))
		put_string(x, c, REPORT_STRING_END, (uint64_t)p);
}
