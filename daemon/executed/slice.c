/* SPDX-License-Identifier: MIT */
/* slice.c: see slice.h: from the last instruction to the first, with the registers and bytes whose values are wanted.
 */
#include "executed/slice.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "executed/control.h"

#define WORD 8u
/* Registers that a call may change (System V ABI): all but rbx, rbp and r12 to r15. */
#define CALLER_SAVED ~(1ull << INSN_RBX | 1ull << INSN_RBP | 0xf000ull)

/* ---- words of memory, with a bit for each byte ---- */

struct word {
	uint64_t key; /* address / 8 + 1 */
	uint8_t bytes;
};

/* The bytes of the word that begins at `word` that [addr, addr + len) has. */
static uint8_t bytes_of(uint64_t word, uint64_t addr, uint64_t len)
{
	uint64_t lo = addr > word ? addr - word : 0, hi = addr + len - word;
	unsigned mask = hi >= WORD ? 0xff : (1u << hi) - 1;

	return (uint8_t)(mask & ~((1u << lo) - 1));
}

enum change { ADD, REMOVE };

/* Adds or removes the bytes of an access. Were some there? */
static bool change(struct table *w, const struct slice_access *a, enum change deed)
{
	bool any = false;

	for (uint64_t at = a->addr & ~(uint64_t)(WORD - 1); at < a->addr + a->len; at += WORD) {
		struct word *word = deed == ADD ? table_add(w, at / WORD + 1) : table_find(w, at / WORD + 1);
		uint8_t bytes = bytes_of(at, a->addr, a->len);

		if (!word)
			continue;
		any |= (word->bytes & bytes) != 0;
		word->bytes = (uint8_t)(deed == ADD ? word->bytes | bytes : word->bytes & ~bytes);
	}
	return any;
}

/* ---- what was executed ---- */

void slice_fini(struct slice *s)
{
	free(s->insns);
	free(s->done);
	free(s->accesses);
	free(s->control);
	memset(s, 0, sizeof(*s));
}

static void *room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 4096;
	return xreallocarray(v, *cap, size);
}

uint32_t slice_add_insn(struct slice *s, const struct insn_regs *r)
{
	s->insns = room(s->insns, s->ninsns, &s->insns_cap, sizeof(*s->insns));
	s->insns[s->ninsns] = *r;
	return (uint32_t)s->ninsns++;
}

void slice_add(struct slice *s, const struct slice_done *d)
{
	s->done = room(s->done, s->n, &s->cap, sizeof(*s->done));
	s->done[s->n++] = *d;
}

void slice_add_access(struct slice *s, uint64_t addr, uint64_t len, bool reads, bool writes)
{
	if (!s->n || !len || s->done[s->n - 1].accesses == UINT8_MAX)
		return;
	s->accesses = room(s->accesses, s->naccesses, &s->accesses_cap, sizeof(*s->accesses));
	s->accesses[s->naccesses++] = (struct slice_access){addr, (uint32_t)len, reads, writes};
	s->done[s->n - 1].accesses++;
}

void slice_add_control(struct slice *s, uint32_t index)
{
	size_t cap = s->control_cap;

	if (s->n > cap) {
		s->control_cap = s->cap;
		s->control = xreallocarray(s->control, s->control_cap, sizeof(*s->control));
		/* what has no instruction depends on none */
		memset(s->control + cap, 0xff, (s->control_cap - cap) * sizeof(*s->control));
	}
	s->control[s->n - 1] = index;
}

/* ---- the slice ---- */

struct wanted {
	uint64_t *regs; /* by thread */
	struct table memory; /* of struct word */
};

/* Does the instruction make something that is wanted? Then that is no longer wanted. */
static bool makes(const struct slice *s, const struct slice_done *d, const struct slice_access *a, struct wanted *w)
{
	uint64_t *regs = &w->regs[d->thread];
	bool any = false;

	for (unsigned k = 0; k < d->accesses; k++)
		if (a[k].writes)
			any |= change(&w->memory, &a[k], REMOVE);
	if (d->insn == SLICE_RETURNED)
		*regs &= ~CALLER_SAVED;
	if (!slice_is_insn(d))
		return false;
	any |= (s->insns[d->insn].writes & *regs) != 0;
	if (any)
		*regs &= ~s->insns[d->insn].writes;
	return any;
}

static void want(const struct slice *s, const struct slice_done *d, const struct slice_access *a, struct wanted *w)
{
	w->regs[d->thread] |= s->insns[d->insn].reads;
	for (unsigned k = 0; k < d->accesses; k++)
		if (a[k].reads)
			change(&w->memory, &a[k], ADD);
}

static void touch(struct table *w, const struct slice_done *d, const struct slice_access *a)
{
	for (unsigned k = 0; k < d->accesses; k++)
		change(w, &a[k], ADD);
}

/* The instruction is in the slice: so is the branch or call on which its execution depended. */
static void want_control(struct slice *s, size_t k)
{
	if (s->control && k < s->control_cap && s->control[k] != CONTROL_NONE)
		s->done[s->control[k]].in = 1;
}

void slice_compute(struct slice *s, size_t criterion)
{
	struct wanted w = {.regs = xcalloc(SLICE_THREADS, sizeof(*w.regs))};
	struct table all, in;
	size_t at = s->naccesses;

	table_init(&w.memory, sizeof(struct word));
	table_init(&all, sizeof(struct word));
	table_init(&in, sizeof(struct word));
	for (size_t k = s->n; k; k--) {
		struct slice_done *d = &s->done[k - 1];
		const struct slice_access *a;
		bool makes_some, leads = d->in; /* leads: to an instruction of the slice */

		at -= d->accesses;
		a = s->accesses ? s->accesses + at : NULL; /* no instruction may have had one */
		makes_some = makes(s, d, a, &w);
		if (!slice_is_insn(d))
			continue;
		touch(&all, d, a);
		if (!makes_some && !leads && s->n - k >= criterion)
			continue;
		want(s, d, a, &w);
		if (s->insns[d->insn].saves && s->n - k >= criterion)
			continue;
		d->in = 1;
		s->in++;
		s->by_control += leads && !makes_some;
		want_control(s, k - 1);
		touch(&in, d, a);
	}
	s->words = all.n;
	s->words_in = in.n;
	table_fini(&all);
	table_fini(&in);
	table_fini(&w.memory);
	free(w.regs);
}
