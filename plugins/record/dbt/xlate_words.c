/* SPDX-License-Identifier: MIT */
/*
 * xlate_words.c: words of memory that are watched. Behind each instruction that may write, translated code looks whether they are what
 * they were, two or three nanoseconds each. It is the values that count, and not the addresses that are written to: a store of the
 * value that is there already is none.
 */
#include "record/dbt/xlate_put.h"

#define JUMP_BYTES 5

/* As many bytes as there are; the rest of rax becomes 0. */
static void put_load(struct cache *c, const struct xlate_word *w)
{
	if (w->len == 8)
		BYTES(c, 0x48, 0xa1); /* movabs, %rax */
	else if (w->len == 4)
		BYTES(c, 0xa1);
	else if (w->len == 2)
		BYTES(c, 0x66, 0xa1);
	else
		BYTES(c, 0xa0);
	put64(c, w->addr);
	if (w->len == 2)
		BYTES(c, 0x0f, 0xb7, 0xc0); /* movzwl %ax, %eax */
	if (w->len == 1)
		BYTES(c, 0x0f, 0xb6, 0xc0); /* movzbl %al, %eax */
}

static void put_back(struct cache *c)
{
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

/* No flag is changed. */
void emit_words(struct xlate *x, struct cache *c, uint64_t from, uint64_t pc)
{
	uint8_t *jump[XLATE_WORDS], *over;
	unsigned n = x->count ? x->count->words : 0;

	if (!n)
		return;
	put_gs(c, STORE, RAX, GS(kept_rax));
	put_gs(c, STORE, RCX, GS(kept_rcx));
	for (unsigned i = 0; i < n; i++) {
		put_load(c, &x->count->word[i]);
		put_gs(c, LOAD, RCX, GS(minus) + i * 8);
		BYTES(c, 0x48, 0x8d, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
		BYTES(c, 0xe3, JUMP_BYTES); /* jrcxz */
		jump[i] = c->cur;
		c->cur += JUMP_BYTES;
	}
	put_back(c);
	BYTES(c, 0xeb, 0); /* jmp */
	over = c->cur;
	for (unsigned i = 0; i < n; i++) {
		struct cache at = {.cur = jump[i]};

		BYTES(&at, 0xe9);
		put32(&at, (uint32_t)(over - (jump[i] + JUMP_BYTES)));
	}
	put_back(c);
	emit_exit(x, c, SITE_CHANGED, pc);
	x->sites[x->nsites - 1].code = c->cur;
	x->sites[x->nsites - 1].from = from;
	over[-1] = (uint8_t)(c->cur - over);
}

void xlate_see_words(struct xlate *x)
{
	for (unsigned i = 0; x->count && i < x->count->words; i++) {
		uint64_t v = 0;

		memcpy(&v, (const void *)x->count->word[i].addr, x->count->word[i].len);
		x->minus[i] = -v;
	}
}
