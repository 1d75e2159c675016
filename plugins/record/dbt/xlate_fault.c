/* SPDX-License-Identifier: MIT */
/*
 * xlate_fault.c: which instruction of the program corresponds to an address in translated code: which one has faulted,
 * and which one has called the recorder. A handler of SIGSEGV examines the address of the instruction, and may send the
 * thread elsewhere, as virtual machines do for null pointers; the dynamic linker looks up the file that contains the
 * caller's address.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/dbt/xlate_emit.h"

#include <asm/prctl.h>

/* The most bytes, in the code for a branch, call or return, up to its last access to the program's memory. */
#define LONGEST 64u
#define BACKS 64u /* the last return addresses that are remembered, of all threads */

static uint64_t backs[BACKS];

void emit_mark(struct xlate *x, const struct cache *c, const uint8_t *p)
{
	x->marks[x->nmarks++] = (struct mark){(uint64_t)c->cur, (uint64_t)p};
}

/* The last mark at or before that address. The caches are not in order, so all are searched. */
static const struct mark *mark_before(const struct xlate *x, uint64_t code)
{
	const struct mark *best = 0;

	for (uint32_t i = 0; i < x->nmarks; i++)
		if (x->marks[i].code <= code && (!best || x->marks[i].code >= best->code))
			best = &x->marks[i];
	return best;
}

const uint64_t *xlate_marks(const struct xlate *x, const uint32_t **n)
{
	*n = &x->nmarks;
	return &x->marks[0].code;
}

uint64_t xlate_original(const struct xlate *x, uint64_t code)
{
	const struct mark *m = mark_before(x, code);
	struct insn i;

	if (!m || code - m->code >= LONGEST)
		return 0;
	insn_decode((const uint8_t *)m->pc, &i);
	/* a plain instruction is copied as it is; code for the others changes no register before it accesses memory */
	return code == m->code || i.kind != INSN_PLAIN ? m->pc : 0;
}

const void *xlate_caller(const void *ret)
{
	struct xlate *x = 0;

	/* GS may be in use by the program */
	if (raw2(SYS_arch_prctl, ARCH_GET_GS, &x) || !x || !sys_mapped(&x->self, sizeof(x->self)) ||
	    x->self != (uint64_t)x || x->back != ret)
		return ret;
	return (const void *)x->native_ret;
}

void xlate_note_back(const struct xlate *x)
{
	static uint32_t next;

	__atomic_store_n(&backs[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % BACKS], (uint64_t)x->back,
			 __ATOMIC_RELAXED);
}

int xlate_was_back(uint64_t addr)
{
	for (uint32_t i = 0; i < BACKS; i++)
		if (addr && __atomic_load_n(&backs[i], __ATOMIC_RELAXED) == addr)
			return 1;
	return 0;
}
