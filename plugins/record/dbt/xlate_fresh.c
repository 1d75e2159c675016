/* SPDX-License-Identifier: MIT */
/*
 * xlate_fresh.c: code in memory that is writable and executable, or shared. A run-time compiler, or a trampoline on an
 * executable stack, replaces it without a system call. So a block of such code first compares the original with what
 * was translated, and is translated again if that has changed (as with Valgrind's --smc-check=all). What a block writes
 * over its own later instructions is seen only when the block is entered again.
 *
 * The file also keeps code from being translated that is not executable, where the processor would fault.
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_put.h"

#include <string.h>

/* When the table is full, the last range is extended to include the new one. */
void xlate_add_writable(struct xlate *x, uint64_t lo, uint64_t hi)
{
	struct xlate_range *last = &x->writable[XLATE_WRITABLE - 1];

	if (x->nwritable < XLATE_WRITABLE) {
		x->writable[x->nwritable++] = (struct xlate_range){lo, hi};
		return;
	}
	last->lo = lo < last->lo ? lo : last->lo;
	last->hi = hi > last->hi ? hi : last->hi;
}

static int add_executable(const struct map *m, void *arg)
{
	struct xlate *x = arg;

	if (m->perms[2] == 'x' && x->nexecutable < XLATE_WRITABLE)
		x->executable[x->nexecutable++] = (struct xlate_range){m->lo, m->hi};
	return x->nexecutable == XLATE_WRITABLE;
}

static int is_in(const struct xlate_range *r, unsigned n, uint64_t pc)
{
	for (unsigned i = 0; i < n; i++)
		if (pc >= r[i].lo && pc < r[i].hi)
			return 1;
	return 0;
}

/* If the table has no room for all mappings, any may be executable. */
static int is_executable(const struct xlate *x, uint64_t pc)
{
	return x->nexecutable == XLATE_WRITABLE || is_in(x->executable, x->nexecutable, pc);
}

int xlate_may_execute(struct xlate *x, uint64_t pc)
{
	/* with shared memory, the protections in /proc/self/maps may be the recorder's, not the program's */
	if (!shim_report || G.group || G.ctl->aliases || shim_code_has(pc, pc + 1))
		return 1;
	if (x->code_changes == shim_code_changes && is_executable(x, pc))
		return 1;
	x->code_changes = shim_code_changes;
	x->nexecutable = 0;
	return maps_each(add_executable, x) < 0 || is_executable(x, pc);
}

static int add_range(const struct map *m, void *arg)
{
	if (m->perms[2] == 'x' && (m->perms[1] == 'w' || m->perms[3] == 's'))
		xlate_add_writable(arg, m->lo, m->hi);
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
	return is_in(x->writable, x->nwritable, pc);
}

/* The size of the next load: the largest that fits what is left. */
static unsigned part(uint64_t left)
{
	return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* mov offset(%rcx), %rdx; of less than 8 bytes, the rest becomes 0. */
static void put_part(struct cache *c, uint64_t offset, unsigned bytes)
{
	if (bytes == 8)
		BYTES(c, 0x48, 0x8b, 0x91);
	else if (bytes == 4)
		BYTES(c, 0x8b, 0x91);
	else if (bytes == 2)
		BYTES(c, 0x0f, 0xb7, 0x91);
	else
		BYTES(c, 0x0f, 0xb6, 0x91);
	put32(c, (uint32_t)offset);
}

/*
 * A sum over the block's words, each multiplied by a power of 5. Unlike a comparison for each word, this takes a single
 * branch, and changes no flag. As 5 is odd, a change of one word always changes the sum. If several words change at
 * once, the sum stays the same only if the changes, times these powers of 5, add up to 0.
 */
static uint64_t put_sum(struct cache *c, uint64_t pc, uint64_t len)
{
	uint64_t sum = 0;

	BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
	put64(c, pc);
	BYTES(c, 0xb8, 0, 0, 0, 0); /* mov $0, %eax */
	for (uint64_t k = 0; k < len; k += part(len - k)) {
		uint64_t v = 0;

		memcpy(&v, (const void *)(pc + k), part(len - k));
		sum = 5 * sum + v;
		put_part(c, k, part(len - k));
		BYTES(c, 0x48, 0x8d, 0x04, 0x80); /* lea (%rax,%rax,4), %rax */
		BYTES(c, 0x48, 0x8d, 0x04, 0x10); /* lea (%rax,%rdx), %rax */
	}
	return sum;
}

void emit_fresh(struct xlate *x, struct cache *c, uint64_t pc, uint64_t len)
{
	uint8_t *start = c->cur, *jump, *over;
	uint64_t sum;

	keep_rax_rcx(c);
	put_gs(c, STORE, RDX, GS(kept_rdx));
	put_gs(c, LOAD, RAX, GS(fresh));
	BYTES(c, 0x48, 0x8d, 0x40, 0x01); /* lea 1(%rax), %rax */
	put_gs(c, STORE, RAX, GS(fresh));
	sum = put_sum(c, pc, len);
	put_gs(c, LOAD, RDX, GS(kept_rdx));
	BYTES(c, 0x48, 0xb9); /* movabs, %rcx */
	put64(c, -sum);
	jump = put_jump_unless_zero(c);
	restore_rax_rcx(c);
	BYTES(c, 0xeb, 0); /* jmp */
	over = c->cur;
	jumps_lead(&jump, 1, over);
	restore_rax_rcx(c);
	emit_exit(x, c, SITE_STALE, pc);
	x->sites[x->nsites - 1].code = start;
	over[-1] = (uint8_t)(c->cur - over);
}
