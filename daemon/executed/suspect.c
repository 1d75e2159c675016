/* SPDX-License-Identifier: MIT */
/* suspect.c: see suspect.h. */
#include "executed/suspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "executed/control.h"

#define NONE UINT32_MAX
#define WORD 8u
#define REGS 64u
#define CALLER_SAVED ~(1ull << INSN_RBX | 1ull << INSN_RBP | 0xf000ull)

/* ---- which instruction has written what another one read ---- */

/* Which instruction wrote the bytes of a word last: indices in slice.done, from 1. */
struct writers {
	uint64_t key;
	uint32_t by[WORD];
};

struct uses {
	const struct slice *s;
	uint32_t *first; /* by index in done: its first one in `from`; n + 1 of them */
	uint32_t *from; /* indices in done */
	size_t n, cap;
	struct table memory;
	uint32_t *regs; /* by thread and register, from 1 */
};

static void add_use(struct uses *u, size_t k, uint32_t by)
{
	if (!by)
		return;
	for (size_t i = u->first[k]; i < u->n; i++)
		if (u->from[i] == by - 1)
			return;
	if (u->n == u->cap) {
		u->cap = u->cap ? u->cap * 2 : 65536;
		u->from = xreallocarray(u->from, u->cap, sizeof(*u->from));
	}
	u->from[u->n++] = by - 1;
}

static void read_memory(struct uses *u, size_t k, const struct slice_access *a)
{
	for (uint64_t at = a->addr & ~(uint64_t)(WORD - 1); at < a->addr + a->len; at += WORD) {
		const struct writers *w = u->memory.cap ? table_find(&u->memory, at / WORD + 1) : NULL;

		for (unsigned b = 0; w && b < WORD; b++)
			if (at + b >= a->addr && at + b < a->addr + a->len)
				add_use(u, k, w->by[b]);
	}
}

static void write_memory(struct uses *u, size_t k, const struct slice_access *a)
{
	for (uint64_t at = a->addr & ~(uint64_t)(WORD - 1); at < a->addr + a->len; at += WORD) {
		struct writers *w = table_add(&u->memory, at / WORD + 1);

		for (unsigned b = 0; b < WORD; b++)
			if (at + b >= a->addr && at + b < a->addr + a->len)
				w->by[b] = (uint32_t)k + 1;
	}
}

static void forget_word(struct writers *w, const struct slice_access *a)
{
	uint64_t at = (w->key - 1) * WORD;

	for (unsigned b = 0; b < WORD; b++)
		if (at + b >= a->addr && at + b - a->addr < a->len)
			w->by[b] = 0;
}

/* The bytes no longer come from an instruction. */
static void forget_memory(struct uses *u, const struct slice_access *a)
{
	if (a->len / WORD > u->memory.n) {
		for (struct writers *w = NULL; (w = table_next(&u->memory, w));)
			forget_word(w, a);
		return;
	}
	for (uint64_t at = a->addr & ~(uint64_t)(WORD - 1); at < a->addr + a->len; at += WORD) {
		struct writers *w = u->memory.cap ? table_find(&u->memory, at / WORD + 1) : NULL;

		if (w)
			forget_word(w, a);
	}
}

static void find_uses(struct uses *u, const struct slice *s)
{
	const struct slice_access *a = s->accesses;

	*u = (struct uses){.s = s,
			   .first = xcalloc(s->n + 1, sizeof(*u->first)),
			   .regs = xcalloc(SLICE_THREADS * REGS, sizeof(*u->regs))};
	table_init(&u->memory, sizeof(struct writers));
	for (size_t k = 0; k < s->n; a += s->done[k].accesses, k++) {
		const struct slice_done *d = &s->done[k];
		uint32_t *regs = &u->regs[d->thread * REGS];
		const struct insn_regs *r = slice_is_insn(d) ? &s->insns[d->insn] : NULL;

		u->first[k] = (uint32_t)u->n;
		for (uint64_t set = r ? r->reads : 0; set; set &= set - 1)
			add_use(u, k, regs[__builtin_ctzll(set)]);
		for (unsigned i = 0; r && i < d->accesses; i++)
			if (a[i].reads)
				read_memory(u, k, &a[i]);
		for (unsigned i = 0; i < d->accesses; i++)
			if (a[i].writes && r)
				write_memory(u, k, &a[i]);
			else if (a[i].writes)
				forget_memory(u, &a[i]);
		for (uint64_t set = r ? r->writes : d->insn == SLICE_RETURNED ? CALLER_SAVED : 0; set; set &= set - 1)
			regs[__builtin_ctzll(set)] = (uint32_t)k + 1;
	}
	u->first[s->n] = (uint32_t)u->n;
}

static void uses_fini(struct uses *u)
{
	free(u->first);
	free(u->from);
	free(u->regs);
	table_fini(&u->memory);
}

/* ---- slices ---- */

struct walk {
	uint32_t *distance; /* by index in done; NONE: not reached */
	uint32_t *decisions;
	uint32_t *queue, *later; /* later: to be reached with one more decision */
	size_t n, nlater;
};

static void reach(struct walk *w, uint32_t k, uint32_t distance, uint32_t decisions)
{
	if (w->distance[k] != NONE)
		return;
	w->distance[k] = distance;
	w->decisions[k] = decisions;
	w->queue[w->n++] = k;
}

/* "mov %rsp, %rbp": an instruction that addresses variables by rbp gets no value from it. */
static bool sets_frame(const struct slice *s, uint32_t k)
{
	const struct insn_regs *r = slice_is_insn(&s->done[k]) ? &s->insns[s->done[k].insn] : NULL;

	return r && !r->reads && !r->pop && !s->done[k].accesses && r->writes == 1ull << INSN_RBP;
}

/* From an execution back, breadth first. */
static void walk_back(const struct uses *u, size_t from, struct walk *w)
{
	const struct slice *s = u->s;

	memset(w->distance, 0xff, s->n * sizeof(*w->distance));
	w->n = w->nlater = 0;
	reach(w, (uint32_t)from, 0, 0);
	for (size_t i = 0; i < w->n || w->nlater; i++) {
		uint32_t k, next;
		const struct slice_done *d;

		if (i == w->n) {
			size_t n = w->nlater;

			w->nlater = 0;
			for (size_t j = 0; j < n; j++)
				reach(w, s->control[w->later[j]], w->distance[w->later[j]] + 1,
				      w->decisions[w->later[j]] + 1);
			if (i == w->n)
				break;
		}
		k = w->queue[i];
		next = w->distance[k] + 1;
		d = &s->done[k];

		if (!slice_is_insn(d))
			continue;
		if (s->insns[d->insn].saves)
			next--;
		for (uint32_t j = u->first[k]; j < u->first[k + 1]; j++)
			if (!sets_frame(s, u->from[j]))
				reach(w, u->from[j], next, w->decisions[k]);
		if (!s->insns[d->insn].saves && s->control && k < s->control_cap && s->control[k] != CONTROL_NONE)
			w->later[w->nlater++] = k;
	}
}

/* ---- pairs of instructions, of which one has given the other a value ---- */

struct pair {
	uint64_t key;
	uint32_t first; /* the index of the execution at which this happened first */
};

static uint64_t pair_key(const struct slice *s, uint32_t from, uint32_t to)
{
	uint64_t giver = slice_is_insn(&s->done[from]) ? s->done[from].insn + 2 : 1;

	return giver << 32 | (s->done[to].insn + 1);
}

/* first_use: by instruction, its first execution. */
static void find_pairs(const struct uses *u, struct table *pairs)
{
	const struct slice *s = u->s;

	table_init(pairs, sizeof(struct pair));
	for (size_t k = 0; k < s->n; k++)
		for (uint32_t j = u->first[k]; slice_is_insn(&s->done[k]) && j < u->first[k + 1]; j++) {
			struct pair *p = table_add(pairs, pair_key(s, u->from[j], (uint32_t)k));

			if (!p->first)
				p->first = (uint32_t)k + 1;
		}
}

static void mark_fresh(const struct uses *u, const struct walk *w, const uint32_t *first_done, struct suspects *out)
{
	const struct slice *s = u->s;
	struct table pairs;

	find_pairs(u, &pairs);
	for (size_t i = 0; i < w->n; i++) {
		uint32_t k = w->queue[i];
		const struct slice_done *d = &s->done[k];

		for (uint32_t j = u->first[k]; slice_is_insn(d) && j < u->first[k + 1]; j++) {
			const struct pair *p = table_find(&pairs, pair_key(s, u->from[j], k));

			/* the instruction was executed before, with values from elsewhere */
			if (p && p->first == k + 1 && first_done[d->insn] < k && slice_is_insn(&s->done[u->from[j]]))
				out->v[s->done[u->from[j]].insn].fresh = true;
		}
	}
	table_fini(&pairs);
}

/* ---- all of it ---- */

/* The branch that led to the check, in its own function or in one that called it. */
static size_t branch_of(const struct slice *s, size_t check)
{
	for (size_t k = check; k < s->control_cap && s->control[k] != CONTROL_NONE; k = s->control[k]) {
		size_t by = s->control[k];

		if (slice_is_insn(&s->done[by]) && !s->insns[s->done[by].insn].call)
			return by;
	}
	return s->n;
}

bool suspects_find(const struct slice *s, size_t check, struct suspects *out)
{
	size_t branch = branch_of(s, check), seen = 0;
	struct walk w = {.distance = xcalloc(s->n + 1, sizeof(*w.distance)),
			 .decisions = xcalloc(s->n + 1, sizeof(*w.decisions)),
			 .queue = xcalloc(s->n + 1, sizeof(*w.queue)),
			 .later = xcalloc(s->n + 1, sizeof(*w.later))};
	uint32_t *first_done = xcalloc(s->ninsns + 1, sizeof(*first_done));
	bool *in_passed = xcalloc(s->ninsns + 1, sizeof(*in_passed));
	struct uses u;

	*out = (struct suspects){.v = xcalloc(s->ninsns + 1, sizeof(*out->v)), .n = s->ninsns};
	if (branch < s->n) {
		find_uses(&u, s);
		for (size_t k = s->n; k--;)
			if (slice_is_insn(&s->done[k])) {
				first_done[s->done[k].insn] = (uint32_t)k;
				out->v[s->done[k].insn].executed++;
			}
		for (size_t k = branch; k-- && seen < SUSPECT_PASSED;) {
			if (s->done[k].insn != s->done[branch].insn)
				continue;
			seen++;
			walk_back(&u, k, &w);
			memset(in_passed, 0, s->ninsns);
			for (size_t i = 0; i < w.n; i++)
				if (slice_is_insn(&s->done[w.queue[i]]))
					in_passed[s->done[w.queue[i]].insn] = true;
			for (size_t i = 0; i < s->ninsns; i++)
				out->v[i].passed += in_passed[i];
		}
		out->passed = (unsigned)seen;
		walk_back(&u, branch, &w);
		for (size_t i = 0; i < w.n; i++) {
			uint32_t k = w.queue[i];
			const struct slice_done *d = &s->done[k];
			struct suspect_insn *v = slice_is_insn(d) ? &out->v[d->insn] : NULL;

			if (!v || s->insns[d->insn].saves)
				continue;
			if (!v->in++ || w.decisions[k] < v->decisions ||
			    (w.decisions[k] == v->decisions && w.distance[k] < v->distance)) {
				v->decisions = w.decisions[k];
				v->distance = w.distance[k];
			}
			for (uint32_t j = u.first[k]; j < u.first[k + 1]; j++)
				v->counts |= s->done[u.from[j]].insn == d->insn;
			v->last = k > v->last ? k : v->last;
			if (k < s->control_cap && s->control[k] != CONTROL_NONE)
				out->v[s->done[s->control[k]].insn].decides = true;
		}
		mark_fresh(&u, &w, first_done, out);
		uses_fini(&u);
	}
	free(w.distance);
	free(w.queue);
	free(w.decisions);
	free(w.later);
	free(first_done);
	free(in_passed);
	return branch < s->n;
}

void suspects_fini(struct suspects *s)
{
	free(s->v);
	*s = (struct suspects){0};
}
