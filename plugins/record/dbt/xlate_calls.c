/* SPDX-License-Identifier: MIT */
/*
 * xlate_calls.c: arguments and results of calls by memory in a report (rlog/report.h). With a filter, those of the
 * functions that the worker wants, by the words from which they are called.
 */
#include "record/dbt/xlate_entry.h"

/* Is addr in `word`? */
static int is_word(const struct replay_report *r, uint64_t addr)
{
	const uint64_t *v = (const uint64_t *)r->word_at;
	uint64_t lo = 0, hi = r->words;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (v[mid] == addr)
			return 1;
		if (v[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* A call or jump by memory, of which arguments are to be told. */
int xlate_has_args(const struct xlate *x, const uint8_t *p, const struct insn *i)
{
	const struct replay_report *r = report_of(x);

	if (!r->args || (i->kind != INSN_CALL_BY && i->kind != INSN_JMP_BY) || !xlate_has_operand(p, i))
		return 0;
	if (!r->filter)
		return 1;
	/* relocations name functions for words at fixed addresses */
	if (!i->rip_at)
		return 0;
	return is_word(r, insn_rip_target(p, i));
}

/* rcx: the stack pointer at which a return address stands, with all bits inverted. rcx becomes the distance to there.
 */
static void put_distance(struct cache *c, int below)
{
	const uint8_t b[] = {0x48, LEA, 0x4c, 0x0c, (uint8_t)(1 - below)}; /* lea 1-below(%rsp,%rcx), %rcx */

	put(c, b, sizeof(b));
}

/* Results are told of the outermost such call. This one is it, unless it is made inside of another one. */
void xlate_put_called(struct cache *c, const struct insn *i)
{
	int below = i->kind == INSN_CALL_BY ? 8 : 0;
	uint8_t *none, *inside;

	put_gs(c, STORE, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RCX, GS(called));
	BYTES(c, 0xe3, 0); /* jrcxz */
	none = c->cur;
	put_distance(c, below);
	put_pext(c, GS(sign_bit));
	BYTES(c, 0xe3, 2, 0xeb, 0); /* jrcxz; jmp */
	inside = c->cur;
	none[-1] = (uint8_t)(c->cur - none);
	BYTES(c, 0x48, LEA, 0x4c, 0x24); /* lea -below(%rsp), %rcx */
	put(c, (const uint8_t[]){(uint8_t)-below}, 1);
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx: no flag is changed */
	put_gs(c, STORE, RCX, GS(called));
	inside[-1] = (uint8_t)(c->cur - inside);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
}

/* Before a return. */
void xlate_put_result(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *it = 0, *other = 0;

	if (report_of(x)->filter) {
		put_gs(c, STORE, RCX, GS(kept_rcx));
		put_gs(c, LOAD, RCX, GS(called));
		put_distance(c, 0);
		BYTES(c, 0xe3, 0); /* jrcxz */
		it = c->cur;
		put_gs(c, LOAD, RCX, GS(kept_rcx));
		BYTES(c, 0xeb, 0); /* jmp */
		other = c->cur;
		it[-1] = (uint8_t)(c->cur - it);
		BYTES(c, 0x65, 0x48, 0xc7, 0x04, 0x25); /* movq $0, %gs: */
		put32(c, GS(called));
		put32(c, 0);
		put_gs(c, LOAD, RCX, GS(kept_rcx));
	}
	keep_rax_rcx(c);
	BYTES(c, 0x48, 0x89, 0xc1); /* mov %rax, %rcx */
	finish_two(x, c, REPORT_RESULT, pc);
	if (other)
		other[-1] = (uint8_t)(c->cur - other);
}

void xlate_put_args(struct xlate *x, struct cache *c, uint64_t pc)
{
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
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
