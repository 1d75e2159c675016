/* SPDX-License-Identifier: MIT */
/* xlate_emit.c: see xlate_emit.h. Intel's manual, volume 2, has the encodings. */
#include "record/dbt/xlate_emit.h"
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_put.h"

static int in_reach(const uint8_t *from, uint64_t to)
{
	int64_t d = (int64_t)(to - (uint64_t)from);

	return d > -0x7fffff00ll && d < 0x7fffff00ll;
}

void emit_jump_at(uint8_t *code, uint64_t to)
{
	struct cache c = {.cur = code};

	if (in_reach(code + 5, to)) {
		BYTES(&c, 0xe9);
		put32(&c, (uint32_t)(to - (uint64_t)code - 5));
	} else {
		BYTES(&c, 0xff, 0x25, 0, 0, 0, 0);
		put64(&c, to);
	}
}

void emit_exit(struct xlate *x, struct cache *c, enum site_kind kind, uint64_t pc)
{
	x->sites[x->nsites] = (struct site){pc, c->cur, kind, 0};
	BYTES(c, 0x65, 0xc7, 0x04, 0x25); /* movl $, %gs: */
	put32(c, GS(site));
	put32(c, x->nsites++);
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(thunk));
}

/* Adjusts the RIP-relative operand of the instruction that ends at the cursor: it means the same as in the original. */
static void adjust(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int32_t d;
	uint64_t to;

	if (!i->rip_at)
		return;
	to = insn_rip_target(p, i);
	x->failed |= !in_reach(c->cur, to);
	d = (int32_t)(to - (uint64_t)c->cur);
	memcpy(c->cur - (i->len - i->rip_at), &d, sizeof(d));
}

void emit_plain(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	put(c, p, i->len);
	adjust(x, c, p, i);
}

void emit_condition(struct cache *c, const uint8_t *p, const struct insn *i)
{
	const uint8_t b[2] = {0x0f, (uint8_t)(0x80 | (i->op & 15))};

	if (i->kind == INSN_LOOP) {
		put(c, p, (size_t)(i->len - 1));
		BYTES(c, EXIT_BYTES);
		return;
	}
	put(c, b, 2);
	put32(c, EXIT_BYTES);
}

void emit_return_address(struct cache *c, uint64_t pc)
{
	BYTES(c, 0x68); /* push: the low half, and what is then overwritten */
	put32(c, (uint32_t)pc);
	BYTES(c, 0xc7, 0x44, 0x24, 0x04); /* movl $, 4(%rsp) */
	put32(c, (uint32_t)(pc >> 32));
}

/* Emits a jump to the address in `by`: through the table (at QUICK_OF, entries of 16 bytes), or through leave(). */
static void put_by(struct xlate *x, struct cache *c, enum site_kind kind)
{
	uint8_t *jump;

	keep_flags(c);
	put_gs(c, STORE, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RCX, GS(by));
	BYTES(c, 0x89, 0xc8, 0xc1, 0xe0, 0x03, 0x25); /* mov %ecx, %eax; shl $3, %eax; and $, %eax */
	put32(c, (QUICK - 1) * 16);
	BYTES(c, 0x65, 0x48, 0x3b, 0x88); /* cmp %gs:quick.pc(%rax), %rcx */
	put32(c, GS(quick));
	BYTES(c, 0x75, 0); /* jne */
	jump = c->cur;
	BYTES(c, 0x65, 0x48, 0x8b, 0x88); /* mov %gs:quick.code(%rax), %rcx */
	put32(c, GS(quick) + 8);
	put_gs(c, STORE, RCX, GS(target));
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	restore_flags(c);
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(target));
	jump[-1] = (uint8_t)(c->cur - jump);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	restore_flags(c);
	emit_exit(x, c, kind, 0);
}

/* For a jump through a register or memory: emits mov OPERAND, %rax, and stores rax in `by`. */
static void load_by(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	uint8_t rex = (uint8_t)(0x48 | (i->rex & 3)), modrm = p[i->modrm_at] & 0xc7;

	put_gs(c, STORE, RAX, GS(kept_rax));
	for (const uint8_t *q = p; q < p + i->op_at; q++)
		if (*q == 0x64 || *q == 0x65 || *q == 0x67)
			put(c, q, 1);
	put(c, &rex, 1);
	BYTES(c, LOAD);
	put(c, &modrm, 1);
	put(c, p + i->modrm_at + 1, (size_t)(i->len - i->modrm_at - 1));
	adjust(x, c, p, i);
	put_gs(c, STORE, RAX, GS(by));
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

void emit_by(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	load_by(x, c, p, i);
	if (i->kind == INSN_CALL_BY) {
		emit_return_address(c, (uint64_t)p + i->len);
		emit_words(x, c, (uint64_t)p, 0);
	}
	put_by(x, c, SITE_BY);
}

void emit_ret(struct xlate *x, struct cache *c, const struct insn *i)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	BYTES(c, 0x48, 0x8b, 0x04, 0x24); /* mov (%rsp), %rax */
	put_gs(c, STORE, RAX, GS(by));
	put_gs(c, LOAD, RAX, GS(kept_rax));
	BYTES(c, 0x48, 0x8d, 0xa4, 0x24); /* lea (%rsp), %rsp: flags stay */
	put32(c, (uint32_t)(8 + i->target));
	put_by(x, c, SITE_RET);
}

static void keep_two(struct cache *c)
{
	keep_rax_rcx(c);
	put_gs(c, LOAD, RCX, GS(native_at));
}

/* Notes the highest stack pointer of a call. */
static void put_native_top(struct cache *c)
{
	uint8_t *below;

	keep_flags(c);
	put_gs(c, COMPARE, RSP, GS(native_top));
	BYTES(c, 0x76, 0); /* jbe */
	below = c->cur;
	put_gs(c, STORE, RSP, GS(native_top));
	below[-1] = (uint8_t)(c->cur - below);
	restore_flags(c);
}

/* Up to the jump there. */
static void put_native(struct xlate *x, struct cache *c, unsigned libc)
{
	put_native_top(c);
	keep_two(c);
	put_gs(c, LOAD, RAX, GS(natives));
	BYTES(c, 0x48, 0x8d, 0x40, 0x01); /* lea 1(%rax), %rax */
	put_gs(c, STORE, RAX, GS(natives));
	BYTES(c, 0x48, 0x8b, 0x04, 0x24); /* mov (%rsp), %rax */
	BYTES(c, 0x65, 0x48, 0x89, 0x81); /* mov %rax, %gs:native(%rcx) */
	put32(c, GS(native));
	put_gs(c, STORE, RAX, GS(native_ret));
	put_gs(c, STORE, RSP, GS(native_sp));
	BYTES(c, 0x48, 0x8d, 0x49, 0x08, 0x0f, 0xb6, 0xc9); /* lea 8(%rcx), %rcx; movzbl %cl, %ecx */
	put_gs(c, STORE, RCX, GS(native_at));
	BYTES(c, 0x48, 0xb8); /* movabs, %rax */
	put64(c, (uint64_t)x->back);
	BYTES(c, 0x48, 0x89, 0x04, 0x24); /* mov %rax, (%rsp) */
	BYTES(c, 0x65, 0x48, 0xc7, 0x04, 0x25); /* movq $, %gs: */
	put32(c, GS(native_libc));
	put32(c, libc);
	restore_rax_rcx(c);
}

void emit_native(struct xlate *x, struct cache *c, uint64_t pc)
{
	put_native(x, c, 0);
	BYTES(c, 0xff, 0x25, 0, 0, 0, 0); /* jmp */
	put64(c, pc);
}

void emit_native_libc(struct xlate *x, struct cache *c)
{
	put_native(x, c, 1);
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(by));
}

void emit_back(struct xlate *x, struct cache *c)
{
	keep_two(c);
	BYTES(c, 0x48, 0x8d, 0x49, 0xf8, 0x0f, 0xb6, 0xc9); /* lea -8(%rcx), %rcx; movzbl %cl, %ecx */
	put_gs(c, STORE, RCX, GS(native_at));
	BYTES(c, 0x65, 0x48, 0x8b, 0x81); /* mov %gs:native(%rcx), %rax */
	put32(c, GS(native));
	BYTES(c, 0x48, 0x89, 0x44, 0x24, 0xf8); /* mov %rax, -8(%rsp) */
	put_gs(c, STORE, RAX, GS(by));
	restore_rax_rcx(c);
	emit_words(x, c, 0, 0);
	put_by(x, c, SITE_RET);
}

static void put_filter_load(struct cache *c, const struct xlate_filter *f)
{
	uint8_t wide = f->half ? 0x40 : 0x48; /* without REX.W the high half becomes 0 */
	const uint8_t mov[3] = {(uint8_t)(wide | (f->reg & 8) >> 1), STORE, (uint8_t)(0xc0 | (f->reg & 7) << 3)};

	if (f->reg == XLATE_HITS) {
		put_gs(c, LOAD, RAX, GS(hits));
		return;
	}
	if (f->reg == XLATE_MEMORY) {
		put(c, &wide, 1);
		BYTES(c, 0xa1); /* movabs, %rax */
		put64(c, f->addr);
		return;
	}
	if (f->reg == RAX)
		put_gs(c, LOAD, RAX, GS(kept_rax));
	put(c, mov, sizeof(mov));
}

static void put_compare(struct cache *c, const uint8_t *value)
{
	BYTES(c, 0x48, 0x3b, 0x05); /* cmp value(%rip), %rax */
	put32(c, (uint32_t)(value - (c->cur + 4)));
}

void emit_filter(struct xlate *x, struct cache *c, const struct site *s, const struct xlate_filter *f)
{
	uint8_t *value = c->cur, *start, *jump, *native = 0;

	put64(c, f->value);
	put64(c, f->until == XLATE_CALL ? x->natives : f->addr);
	start = c->cur;
	keep_flags(c);
	put_gs(c, 0xff, 0, GS(hits)); /* incq */
	if (f->until != XLATE_FOR_EVER) {
		put_gs(c, LOAD, RAX, f->until == XLATE_CALL ? GS(natives) : GS(native_top));
		put_compare(c, value + 8);
		put(c, f->until == XLATE_CALL ? "\x75" : "\x77", 2); /* jne; ja */
		native = c->cur;
	}
	put_filter_load(c, f);
	put_compare(c, value);
	BYTES(c, 0x74, 0); /* je */
	jump = c->cur;
	restore_flags(c);
	BYTES(c, 0xff, 0x25, 0, 0, 0, 0); /* jmp */
	put64(c, (uint64_t)s->code);
	jump[-1] = (uint8_t)(c->cur - jump);
	if (native)
		native[-1] = (uint8_t)(c->cur - native);
	restore_flags(c);
	emit_exit(x, c, SITE_PASSED, s->pc);
	x->sites[x->nsites - 1].code = s->code;
	emit_jump_at(s->code - EXIT_BYTES, (uint64_t)start);
}

/* ---- words that are watched ---- */

/*
 * Words of memory that are watched. After each instruction that may write, translated code compares them with their
 * former values, in two or three nanoseconds each. Only values count, not the addresses that are written to: a store of
 * the value that is there already is no change.
 */
void xlate_put_load(struct cache *c, const struct xlate_word *w)
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

/* Changes no flag. */
void emit_words(struct xlate *x, struct cache *c, uint64_t from, uint64_t pc)
{
	uint8_t *jump[XLATE_WORDS], *over;
	unsigned n = x->count ? x->count->words : 0;

	if (!n)
		return;
	keep_rax_rcx(c);
	for (unsigned i = 0; i < n; i++) {
		xlate_put_load(c, &x->count->word[i]);
		put_gs(c, LOAD, RCX, GS(minus) + i * 8);
		jump[i] = put_jump_unless_zero(c);
	}
	restore_rax_rcx(c);
	BYTES(c, 0xeb, 0); /* jmp */
	over = c->cur;
	jumps_lead(jump, n, over);
	restore_rax_rcx(c);
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
