/* SPDX-License-Identifier: MIT */
/*
 * xlate_known.c: translated code of REPORT_NEW (rlog/report.h): before an access, it tests whether the access is known;
 * if not, it jumps to a stub, which writes an entry. None of this changes a flag: a sum is compared with 0 by jrcxz,
 * and the address's place in a table is computed by pext.
 */
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_entry.h"
#include "rlog/replay.h"

#include <string.h>

#define STACKS_BIT 40 /* addresses of stacks have 0x50 in the bits from this one on */
#define STACKS (SHIM_STACK_ADDR >> STACKS_BIT)
#define OTHER (KNOWN_STUBS - 1) /* the stub for accesses that never become known */
#define SCALE8_RAX 0xc5 /* SIB bytes: index times 8, base: an address in the instruction */
#define SCALE8_RCX 0xcd
_Static_assert((SHIM_STACK_ADDR & ((1ull << STACKS_BIT) - 1)) == 0 && RLOG_MAX_THREADS <= 1u << (STACKS_BIT - 26),
	       "stacks begin there, and end before the next multiple");

static struct replay_known *known_of(void)
{
	return (struct replay_known *)REPLAY_KNOWN_ADDR;
}

/* ---- sites ---- */

static uint32_t *place_of(struct xlate *x, uint64_t head)
{
	const struct replay_known *k = known_of();
	uint32_t n = sizeof(x->known_at) / sizeof(x->known_at[0]),
		 h = (uint32_t)(head * 0x9e3779b97f4a7c15ull >> 40) % n;

	while (x->known_at[h] && k->head[x->known_at[h] - 1] != head)
		h = (h + 1) % n;
	return &x->known_at[h];
}

/* The site of the instruction at pc; REPORT_SITES: it has none. */
static uint32_t site_of(struct xlate *x, uint64_t pc, uint64_t wants, int orders)
{
	struct replay_known *k = known_of();
	uint64_t head = (uint64_t)REPORT_PASS << REPORT_KIND_SHIFT | pc;
	uint32_t *place = place_of(x, head), n;

	if (*place && k->wants[*place - 1] == wants)
		return *place - 1;
	if (*place) /* in an earlier copy, other code was there */
		return REPORT_SITES;
	if (k->sites == REPORT_SITES)
		return REPORT_SITES;
	n = (uint32_t)k->sites++;
	k->head[n] = head;
	k->wants[n] = wants;
	k->mask[n] = 0;
	k->orders[n] = (uint64_t)orders;
	*place = n + 1;
	return n;
}

void xlate_see_known(struct xlate *x)
{
	struct replay_known *k = known_of();

	k->one_epoch = 1ull << REPORT_EPOCH_BIT;
	k->epoch += k->one_epoch; /* there may be accesses of an earlier translator */
	k->minus_epoch = -k->epoch;
	k->stack_bits = 0xffull << STACKS_BIT;
	for (unsigned i = 0; i < REPORT_KNOWN_SIZES; i++)
		k->bits[i] = (uint64_t)(REPORT_KNOWN - 1) << i;
	for (uint32_t n = 0; n < k->sites; n++)
		*place_of(x, k->head[n]) = n + 1;
}

/* ---- code ---- */

static uint32_t at(struct xlate *x, const void *p)
{
	return distance(x, (uint64_t)p);
}

/* mov %gs:words(,%index,8), %reg, or back */
static void put_indexed(struct cache *c, uint8_t op, int reg, uint8_t sib, uint32_t words)
{
	const uint8_t b[] = {0x65, 0x48, op, (uint8_t)(0x04 | reg << 3), sib};

	put(c, b, sizeof(b));
	put32(c, words);
}

/* Through GS: pext MASK, %rcx, %rax */
static void put_pext_rax(struct cache *c, uint32_t mask)
{
	BYTES(c, 0x65, 0xc4, 0xe2, 0xf2, 0xf5, 0x04, 0x25);
	put32(c, mask);
}

static void put_sum(struct cache *c)
{
	BYTES(c, 0x48, LEA, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
}

static void put_negate(struct cache *c)
{
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx */
	BYTES(c, 0x48, LEA, 0x49, 0x01); /* lea 1(%rcx), %rcx */
}

/* Emits jrcxz, whose target a few bytes later is set afterwards. */
static uint8_t *put_if_zero(struct cache *c)
{
	BYTES(c, 0xe3, 0);
	return c->cur;
}

static void leads_here(const struct cache *c, uint8_t *jump)
{
	jump[-1] = (uint8_t)(c->cur - jump);
}

/* Begins the next epoch. rax and rcx may be used. */
static void put_epoch(struct xlate *x, struct cache *c)
{
	struct replay_known *k = known_of();

	put_gs(c, LOAD, RAX, at(x, &k->epoch));
	put_gs(c, LOAD, RCX, at(x, &k->one_epoch));
	put_sum(c);
	put_gs(c, STORE, RCX, at(x, &k->epoch));
	put_negate(c);
	put_gs(c, STORE, RCX, at(x, &k->minus_epoch));
}

void xlate_put_orders(struct xlate *x, struct cache *c)
{
	keep_rax_rcx(c);
	put_epoch(x, c);
	restore_rax_rcx(c);
}

/* rcx becomes the site's word in this array. */
static void put_site_word(struct xlate *x, struct cache *c, const uint64_t *words)
{
	put_gs(c, LOAD, RCX, GS(known_site));
	put_indexed(c, LOAD, RCX, SCALE8_RCX, at(x, words));
}

static void put_entry(struct xlate *x, struct cache *c)
{
	struct replay_known *k = known_of();

	put_cur(x, c, LOAD);
	put_gs(c, LOAD, RCX, GS(operand));
	put_word(c, 1);
	put_site_word(x, c, k->head);
	put_word(c, 0);
	put_site_word(x, c, k->passes);
	put_word(c, 2);
	BYTES(c, 0x48, LEA, 0x40, 24); /* lea 24(%rax), %rax */
	put_cur(x, c, STORE);
}

/* From now on, the access is known. */
static void put_learn(struct xlate *x, struct cache *c, unsigned writes, unsigned size)
{
	struct replay_known *k = known_of();
	uint8_t *first;

	put_gs(c, LOAD, RCX, GS(operand));
	put_pext_rax(c, at(x, &k->bits[size]));
	BYTES(c, 0x48, LEA, 0x08); /* lea (%rax), %rcx */
	first = put_if_zero(c);
	put_gs(c, STORE, RDX, GS(kept_known));
	put_gs(c, LOAD, RCX, GS(operand));
	put_negate(c);
	put_gs(c, LOAD, RDX, at(x, &k->epoch));
	BYTES(c, 0x48, LEA, 0x0c, 0x11); /* lea (%rcx,%rdx), %rcx */
	put_gs(c, LOAD, RDX, GS(kept_known));
	put_indexed(c, STORE, RCX, SCALE8_RAX, at(x, k->is[0][size]));
	if (writes)
		put_indexed(c, STORE, RCX, SCALE8_RAX, at(x, k->is[1][size]));
	leads_here(c, first);
}

static void put_back(struct cache *c)
{
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs:known_back */
	put32(c, GS(known_back));
}

/* rcx becomes 0 if the access is known, according to `mask`. */
static void put_look(struct xlate *x, struct cache *c, unsigned writes, unsigned size, uint32_t mask)
{
	struct replay_known *k = known_of();

	put_pext_rax(c, mask);
	put_indexed(c, LOAD, RAX, SCALE8_RAX, at(x, k->is[writes][size]));
	put_sum(c);
	put_gs(c, LOAD, RAX, at(x, &k->minus_epoch));
	put_sum(c);
}

/* rcx becomes 0 if the operand is on a stack. */
static void put_is_stack(struct xlate *x, struct cache *c)
{
	put_gs(c, LOAD, RCX, GS(operand));
	put_pext(c, at(x, &known_of()->stack_bits));
	BYTES(c, 0x48, LEA, 0x49, (uint8_t)-STACKS); /* lea -STACKS(%rcx), %rcx */
}

/* Everything for a write to a stack, if that may become known although another access of the instruction may not. */
static void put_on_stack(struct xlate *x, struct cache *c, unsigned size)
{
	struct replay_known *k = known_of();
	uint8_t *other[2], *new;

	put_site_word(x, c, k->stacks);
	BYTES(c, 0x48, LEA, 0x49, 0xff); /* lea -1(%rcx), %rcx: it is 1 or 0 */
	BYTES(c, 0xe3, LONG_JUMP); /* jrcxz */
	other[0] = c->cur;
	c->cur += LONG_JUMP;
	put_is_stack(x, c);
	BYTES(c, 0xe3, LONG_JUMP); /* jrcxz */
	other[1] = c->cur;
	c->cur += LONG_JUMP;
	put_gs(c, LOAD, RCX, GS(operand));
	put_look(x, c, 1, size, at(x, &k->bits[size]));
	BYTES(c, 0xe3, 2); /* jrcxz; jmp */
	BYTES(c, 0xeb, 0);
	new = c->cur;
	put_back(c);
	leads_here(c, new);
	put_entry(x, c);
	put_learn(x, c, 1, size);
	put_back(c);
	jumps_lead(other, 2, c->cur);
}

/* For an access that may order threads. */
static void put_order(struct xlate *x, struct cache *c)
{
	struct replay_known *k = known_of();
	uint8_t *never, *on_stack;

	put_site_word(x, c, k->orders);
	never = put_if_zero(c);
	put_is_stack(x, c);
	on_stack = put_if_zero(c);
	put_epoch(x, c);
	leads_here(c, on_stack);
	leads_here(c, never);
}

void emit_known_stubs(struct xlate *x, struct cache *c)
{
	struct replay_known *k = known_of();
	uint8_t **stub = x->known[c - x->cache], *never;

	if (!report_of(x) || report_of(x)->filter != REPORT_NEW || stub[0])
		return;
	for (unsigned n = 0; n < KNOWN_STUBS; n++) {
		stub[n] = c->cur;
		if (n != OTHER && n % 2)
			put_on_stack(x, c, n / 2);
		put_entry(x, c);
		if (n != OTHER) {
			put_site_word(x, c, k->mask);
			never = put_if_zero(c);
			put_learn(x, c, n % 2, n / 2);
			leads_here(c, never);
		}
		if (n == OTHER || n % 2)
			put_order(x, c);
		put_back(c);
	}
}

/* Emits a jump to a stub, which returns to the code after it. */
static void put_stub(struct xlate *x, struct cache *c, uint32_t site, unsigned stub)
{
	uint8_t *back, *next;

	BYTES(c, 0xb9); /* mov SITE, %ecx */
	put32(c, site);
	put_gs(c, STORE, RCX, GS(known_site));
	BYTES(c, 0x48, LEA, 0x0d); /* lea BACK(%rip), %rcx */
	back = c->cur;
	put32(c, 0);
	put_gs(c, STORE, RCX, GS(known_back));
	next = c->cur;
	c->cur += LONG_JUMP;
	jumps_lead(&next, 1, x->known[c - x->cache][stub]);
	put32(&(struct cache){.cur = back}, (uint32_t)(c->cur - (back + 4)));
}

static unsigned size_of(unsigned bytes)
{
	return bytes && !(bytes & (bytes - 1)) && bytes <= 1u << (REPORT_KNOWN_SIZES - 1)
		       ? (unsigned)__builtin_ctz(bytes)
		       : REPORT_KNOWN_SIZES;
}

/* xchg with memory locks without a prefix. */
static int is_xchg(const struct insn *i)
{
	return !i->vex && i->map == 0 && (i->op & 0xfe) == 0x86;
}

/* For an instruction without a site. */
static void put_plain(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i, int orders)
{
	keep_rax_rcx(c);
	xlate_put_lea(x, c, p, i);
	finish_two(x, c, REPORT_ACCESS, (uint64_t)p);
	if (orders)
		xlate_put_orders(x, c);
}

void xlate_put_known(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	unsigned size = size_of(insn_operand_bytes(p, i)), stub = OTHER;
	enum insn_way way = size < REPORT_KNOWN_SIZES ? insn_operand_way(p, i) : INSN_NOT_KNOWN;
	int orders = insn_may_write(p, i), masked = i->vex == 4 && p[i->op_at - 1] & 7;
	struct replay_known *k = known_of();
	uint32_t site;
	uint8_t *known = 0;

	if (i->kind != INSN_PLAIN) {
		put_plain(x, c, p, i, 0);
		return;
	}
	/* of code that may change, the worker's knowledge does not last */
	if (masked || is_xchg(i) || xlate_is_writable(x, (uint64_t)p) || insn_has_prefix(p, i, LOCK_PREFIX) ||
	    insn_has_prefix(p, i, GS_PREFIX)) {
		put_plain(x, c, p, i, orders);
		return;
	}
	if (way != INSN_NOT_KNOWN)
		stub = size * 2 + (way != INSN_READS);
	site = site_of(x, (uint64_t)p, stub == OTHER ? 0 : k->bits[size], way != INSN_READS && orders);
	if (site == REPORT_SITES) {
		put_plain(x, c, p, i, way != INSN_READS && orders);
		return;
	}
	keep_rax_rcx(c);
	xlate_put_lea(x, c, p, i);
	put_gs(c, STORE, RCX, GS(operand));
	put_gs(c, LOAD, RAX, at(x, &k->passes[site]));
	BYTES(c, 0x48, LEA, 0x40, 0x01); /* lea 1(%rax), %rax */
	put_gs(c, STORE, RAX, at(x, &k->passes[site]));
	if (stub != OTHER) {
		k->used[stub % 2][size] = k->used[0][size] = 1;
		put_look(x, c, stub % 2, size, at(x, &k->mask[site]));
		known = put_if_zero(c);
	}
	put_stub(x, c, site, stub);
	if (known)
		leads_here(c, known);
	restore_rax_rcx(c);
}
