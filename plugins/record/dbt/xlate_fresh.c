/* SPDX-License-Identifier: MIT */
/*
 * xlate_fresh.c: code in memory that is writable and executable, or shared. A compiler at run time, or a trampoline on
 * an executable stack, replaces it without a call of the kernel. So a block of such code first compares the original
 * with what was translated, and is translated again if that has changed (as Valgrind's --smc-check=all). What a block
 * writes over its own later instructions is not seen before the block is entered again.
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_put.h"

#include <string.h>

/* Mappings come in order: where there is no room, the last range grows over what is between. */
static int add_range(const struct map *m, void *arg)
{
	struct xlate *x = arg;

	if (m->perms[2] != 'x' || (m->perms[1] != 'w' && m->perms[3] != 's'))
		return 0;
	if (x->nwritable == XLATE_WRITABLE)
		x->writable[XLATE_WRITABLE - 1].hi = m->hi;
	else
		x->writable[x->nwritable++] = (struct xlate_range){m->lo, m->hi};
	return 0;
}

void xlate_find_writable(struct xlate *x)
{
	if (maps_each(add_range, x) < 0) {
		x->writable[0] = (struct xlate_range){0, ~0ull};
		x->nwritable = 1;
	}
}

int xlate_is_writable(const struct xlate *x, uint64_t pc)
{
	for (unsigned i = 0; i < x->nwritable; i++)
		if (pc >= x->writable[i].lo && pc < x->writable[i].hi)
			return 1;
	return 0;
}

/* rcx and rax add up to 0 if these bytes are what they are now. */
static void put_compare(struct cache *c, uint64_t addr, unsigned len)
{
	const struct xlate_word w = {addr, len};
	uint64_t v = 0;

	memcpy(&v, (const void *)addr, len);
	xlate_put_load(c, &w);
	BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
	put64(c, -v);
}

/* The most that one comparison can take of what is left. */
static unsigned part(uint64_t left)
{
	return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

void emit_fresh(struct xlate *x, struct cache *c, uint64_t pc, uint64_t len)
{
	uint8_t *start = c->cur, *jump[FRESH_BYTES], *over;
	unsigned n = 0;

	keep_rax_rcx(c);
	put_gs(c, LOAD, RAX, GS(fresh));
	BYTES(c, 0x48, 0x8d, 0x40, 0x01); /* lea 1(%rax), %rax */
	put_gs(c, STORE, RAX, GS(fresh));
	for (uint64_t k = 0; k < len && n < FRESH_BYTES; k += part(len - k)) {
		put_compare(c, pc + k, part(len - k));
		jump[n++] = put_jump_unless_zero(c);
	}
	restore_rax_rcx(c);
	BYTES(c, 0xeb, 0); /* jmp */
	over = c->cur;
	jumps_lead(jump, n, over);
	restore_rax_rcx(c);
	emit_exit(x, c, SITE_STALE, pc);
	x->sites[x->nsites - 1].code = start;
	over[-1] = (uint8_t)(c->cur - over);
}
