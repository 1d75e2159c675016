/* SPDX-License-Identifier: MIT */
/*
 * xlate_fault.c: where in the program translated code stands: which instruction has faulted, and who has called the
 * recorder. A handler of SIGSEGV looks at the address of the instruction, and may send the thread elsewhere, as virtual
 * machines do for null pointers; the dynamic linker looks at the file that the caller's address is in.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/dbt/xlate_emit.h"

#include <asm/prctl.h>

/* Bytes, of what a branch, call or return becomes, up to its last access to the program's memory. */
#define LONGEST 64u
#define BACKS 64u /* remembered, of all threads: the last ones */

static uint64_t backs[BACKS];

void emit_mark(struct xlate *x, const struct cache *c, const uint8_t *p)
{
	x->marks[x->nmarks++] = (struct mark){(uint64_t)c->cur, (uint64_t)p};
}

/* The last mark up to there. The caches are not in order, so all are looked at. */
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
	/* a plain instruction is itself; of the others, no register is changed before they access memory */
	return code == m->code || i.kind != INSN_PLAIN ? m->pc : 0;
}

const void *xlate_caller(const void *ret)
{
	struct xlate *x = 0;

	/* GS may also be the program's own */
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
