/* SPDX-License-Identifier: MIT */
/*
 * xlate_report.c: translated code that reports what the program does (rlog/report.h): in front of an instruction, some
 * ten others write an entry. They change no flag, no register and none of the program's memory. Which accesses an
 * instruction makes, and of how many bytes, is the reader's to decode: here it is enough to know its operand's address.
 */
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_put.h"

#define LEA 0x8d
#define MODRM_RCX (1 << 3)
#define EVEX_BYTES 4
#define ADDR32 0x67

static struct replay_report *report_of(const struct xlate *x)
{
	return x->count ? x->count->report : 0;
}

/* mov cur, %rax, or back */
static void put_cur(struct xlate *x, struct cache *c, uint8_t op)
{
	const uint8_t b[] = {0x48, op};

	put(c, b, sizeof(b));
	put64(c, (uint64_t)&report_of(x)->cur);
}

static void begin(struct cache *c)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	put_gs(c, STORE, RCX, GS(kept_rcx));
}

/* Word `at` of the entry, which rax points to, becomes rcx. */
static void put_word(struct cache *c, unsigned at)
{
	const uint8_t b[] = {0x48, 0x89, 0x48, (uint8_t)(at * 8)};

	put(c, b, sizeof(b));
}

static void put_head(struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
	put64(c, (uint64_t)kind << REPORT_KIND_SHIFT | pc);
	put_word(c, 0);
}

/* The entry is of so many words. */
static void end(struct xlate *x, struct cache *c, unsigned words)
{
	const uint8_t lea[] = {0x48, LEA, 0x40, (uint8_t)(words * 8)}; /* lea N(%rax), %rax */

	put(c, lea, sizeof(lea));
	put_cur(x, c, 0xa3);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

/* An entry whose second word is in rcx already. */
static void finish_two(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	put_cur(x, c, 0xa1);
	put_word(c, 1);
	put_head(c, kind, pc);
	end(x, c, 2);
}

/* REX's X and B of the operand in memory. */
static uint8_t extension(const uint8_t *p, const struct insn *i)
{
	if (!i->vex)
		return i->rex & 3;
	return i->vex == 2 ? 0 : (uint8_t)(~p[i->op_at - i->vex + 1] >> 5 & 3);
}

/* lea OPERAND, %rcx */
static void put_lea(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	const uint8_t b[] = {(uint8_t)(0x48 | extension(p, i)), LEA, (uint8_t)((p[i->modrm_at] & 0xc7) | MODRM_RCX)};
	unsigned to = i->imm_at ? i->imm_at : i->len;

	for (const uint8_t *q = p; q < p + i->op_at - i->vex; q++)
		if (*q == ADDR32)
			put(c, q, 1);
	put(c, b, sizeof(b));
	put(c, p + i->modrm_at + 1, to - i->modrm_at - 1u);
	if (i->rip_at) {
		int32_t d;
		int64_t from_here;

		memcpy(&d, p + i->rip_at, sizeof(d));
		from_here = (int64_t)((uint64_t)p + i->len + (uint64_t)(int64_t)d - (uint64_t)c->cur);
		x->failed |= from_here != (int32_t)from_here;
		d = (int32_t)from_here;
		memcpy(c->cur - sizeof(d), &d, sizeof(d));
	}
}

/* Which opmask register says what of the operand is accessed; 0: all is. */
static unsigned opmask(const uint8_t *p, const struct insn *i)
{
	return i->vex == EVEX_BYTES ? p[i->op_at - 1] & 7 : 0;
}

static void put_mask(struct xlate *x, struct cache *c, unsigned k)
{
	const uint8_t kmovq[] = {0xc4, 0xe1, 0xfb, 0x93, (uint8_t)(0xc8 | k)}; /* kmovq %k, %rcx */

	begin(c);
	put(c, kmovq, sizeof(kmovq));
	finish_two(x, c, REPORT_MASK, 0);
}

static int has_operand(const uint8_t *p, const struct insn *i)
{
	if (!i->modrm_at || p[i->modrm_at] >> 6 == 3)
		return 0;
	if (i->vex)
		return 1;
	/* lea; prefetches and nops */
	return i->map == 0 ? i->op != LEA : i->map == 1 ? i->op != 0x0d && (i->op & 0xf8) != 0x18 : 1;
}

static int is_string(const struct insn *i)
{
	return !i->vex && i->map == 0 && ((i->op >= 0xa4 && i->op <= 0xa7) || (i->op >= 0xaa && i->op <= 0xaf));
}

static void put_string(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	begin(c);
	put_cur(x, c, 0xa1);
	BYTES(c, 0x48, 0x89, 0x78, 0x08); /* mov %rdi, 8(%rax) */
	BYTES(c, 0x48, 0x89, 0x70, 0x10); /* mov %rsi, 16(%rax) */
	put_word(c, 3);
	put_head(c, kind, pc);
	end(x, c, 4);
}

/* By an address in the instruction itself. */
static int is_absolute(const struct insn *i)
{
	return !i->vex && i->map == 0 && i->op >= 0xa0 && i->op <= 0xa3 && i->imm_len == 8;
}

/* The stack pointer is the entry's second word. */
static void put_sp(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	begin(c);
	BYTES(c, 0x48, 0x89, 0xe1); /* mov %rsp, %rcx */
	finish_two(x, c, kind, pc);
}

void emit_report_args(struct xlate *x, struct cache *c, uint64_t pc)
{
	if (!report_of(x) || !report_of(x)->args)
		return;
	begin(c);
	put_cur(x, c, 0xa1);
	BYTES(c, 0x48, 0x89, 0x78, 0x08); /* mov %rdi, 8(%rax) */
	BYTES(c, 0x48, 0x89, 0x70, 0x10); /* mov %rsi, 16(%rax) */
	BYTES(c, 0x48, 0x89, 0x50, 0x18); /* mov %rdx, 24(%rax) */
	put_word(c, 4);
	BYTES(c, 0x4c, 0x89, 0x40, 0x28); /* mov %r8, 40(%rax) */
	BYTES(c, 0x4c, 0x89, 0x48, 0x30); /* mov %r9, 48(%rax) */
	BYTES(c, 0x48, 0x89, 0x60, 0x38); /* mov %rsp, 56(%rax) */
	put_head(c, REPORT_ARGS, pc);
	end(x, c, 8);
}

void emit_report(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	if (!report_of(x) || i->kind == INSN_STOP)
		return;
	if (report_of(x)->every)
		put_sp(x, c, REPORT_INSN, (uint64_t)p);
	if (is_string(i)) {
		put_string(x, c, REPORT_STRING, (uint64_t)p);
		return;
	}
	if (opmask(p, i) && has_operand(p, i))
		put_mask(x, c, opmask(p, i));
	if (has_operand(p, i)) {
		begin(c);
		put_lea(x, c, p, i);
		finish_two(x, c, REPORT_ACCESS, (uint64_t)p);
	} else if (is_absolute(i)) {
		begin(c);
		BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
		put(c, p + i->imm_at, 8);
		finish_two(x, c, REPORT_ACCESS, (uint64_t)p);
	}
	if (i->kind == INSN_RET && report_of(x)->args) {
		begin(c);
		BYTES(c, 0x48, 0x89, 0xc1); /* mov %rax, %rcx */
		finish_two(x, c, REPORT_RESULT, (uint64_t)p);
	}
	if (i->kind == INSN_CALL || i->kind == INSN_CALL_BY || i->kind == INSN_RET)
		put_sp(x, c, i->kind == INSN_RET ? REPORT_RET : REPORT_CALL, (uint64_t)p);
	if ((i->kind == INSN_CALL_BY || i->kind == INSN_JMP_BY) && has_operand(p, i))
		emit_report_args(x, c, (uint64_t)p);
}

void emit_report_behind(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	if (report_of(x) && is_string(i))
		put_string(x, c, REPORT_STRING_END, (uint64_t)p);
}

void emit_report_back(struct xlate *x, struct cache *c)
{
	if (!report_of(x))
		return;
	begin(c);
	BYTES(c, 0x48, LEA, 0x4c, 0x24, 0xf8); /* lea -8(%rsp), %rcx */
	finish_two(x, c, REPORT_RET, 0);
}

void emit_report_room(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *below;

	if (!report_of(x))
		return;
	keep_flags(c);
	put_cur(x, c, 0xa1);
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
