/* SPDX-License-Identifier: MIT */
/*
 * leaks.c: blocks that nothing points to at the end. Each word of the program's writable memory and of its threads'
 * registers counts as a pointer, also if it points into the middle of a block; so does each word of a block that is
 * reached. A stack is read from the stack pointer up only: below it are pointers of functions that have returned.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "memcheck/memcheck.h"
#include "rlog/heap.h"
#include "rlog/rlog.h"

#define PIECE 65536u
#define BELOW 4096u /* of a stack pointer of earlier: the recorder's function there keeps registers */
#define RED_ZONE 128u
#define STAND_RSP 6 /* of the registers of struct replay_stand */

struct search {
	struct memcheck *m;
	struct target *t;
	struct heap_piece **v; /* all that are allocated, by address */
	size_t n;
	struct heap_piece **todo; /* reached, and not looked into yet */
	size_t ntodo;
};

static int by_address(const void *a, const void *b)
{
	const struct heap_piece *const *x = a, *const *y = b;

	return ((*x)->at > (*y)->at) - ((*x)->at < (*y)->at);
}

/* A word of memory. */
static void point(struct search *s, uint64_t word)
{
	size_t lo = 0, hi = s->n;
	struct heap_piece *p;

	if (!blocks_is_heap(word))
		return;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid]->at <= word)
			lo = mid + 1;
		else
			hi = mid;
	}
	p = lo ? s->v[lo - 1] : NULL;
	/* one after the end, too: the end of what is gone through */
	if (!p || p->reached || word > p->at + p->len)
		return;
	p->reached = true;
	s->todo[s->ntodo++] = p;
}

static void scan(struct search *s, uint64_t lo, uint64_t hi)
{
	uint64_t words[PIECE / 8];
	struct err ignored;

	for (lo = (lo + 7) & ~7ull; lo + 8 <= hi; lo += sizeof(words)) {
		size_t len = hi - lo < sizeof(words) ? (size_t)(hi - lo) & ~7ul : sizeof(words);

		if (trace_read(s->t->pid, lo, words, len, &ignored))
			continue;
		for (size_t k = 0; k < len / 8; k++)
			point(s, words[k]);
	}
}

/* Where the thread stands still, if it does. */
static bool read_stand(const struct search *s, uint32_t thread, struct replay_stand *out)
{
	struct err ignored;

	return target_tid(s->t, thread) &&
	       !trace_read(s->t->pid, s->t->ctl->stand_addr + thread * s->t->ctl->stand_size, out, sizeof(*out),
			   &ignored);
}

/* The lowest address of its stack that a thread uses; sp: the last stack pointer that was told. */
static uint64_t used_from(const struct search *s, uint32_t thread, const struct mapping *v, uint64_t sp)
{
	struct replay_stand stand;

	if (read_stand(s, thread, &stand) && stand.there && mapping_has(v, stand.reg[STAND_RSP]))
		return stand.reg[STAND_RSP] - RED_ZONE;
	return sp - BELOW;
}

/* Where the used part of a stack begins, if that is one: lo. */
static uint64_t stack_from(const struct search *s, const struct mapping *v)
{
	uint64_t from = v->hi;
	bool is_stack = !strcmp(v->path, "[stack]") || shim_is_stack(v->lo);

	for (unsigned k = 1; k < RLOG_MAX_THREADS; k++) {
		uint64_t sp = s->m->i.stacks[k].sp, used;

		if (!sp || !mapping_has(v, sp) || !target_tid(s->t, k))
			continue;
		is_stack = true;
		used = used_from(s, k, v, sp);
		if (used < from)
			from = used;
	}
	return !is_stack || from < v->lo ? v->lo : from;
}

static bool is_recorders(const struct mapping *v)
{
	return strstr(v->path, RLOG_SHIM_NAME) || blocks_is_heap(v->lo);
}

static int scan_roots(struct search *s, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping v;

	if (maps_open(&maps, s->t->pid, e))
		return -1;
	while (maps_next(&maps, &v))
		if (v.read && v.write && !v.shared && !is_recorders(&v))
			scan(s, stack_from(s, &v), v.hi);
	return 0;
}

static void scan_registers(struct search *s)
{
	for (unsigned k = 1; k < RLOG_MAX_THREADS; k++) {
		struct replay_stand stand;

		if (!read_stand(s, k, &stand))
			continue;
		for (unsigned r = 0; r < sizeof(stand.reg) / sizeof(stand.reg[0]); r++)
			point(s, stand.reg[r]);
	}
}

static void list(struct search *s)
{
	const struct blocks *b = &s->m->blocks;

	s->v = xcalloc(b->pieces.n + 1, sizeof(*s->v));
	s->todo = xcalloc(b->pieces.n + 1, sizeof(*s->todo));
	for (struct heap_piece *p = NULL; (p = table_next(&b->pieces, p));)
		if (p->state == BLOCK_LIVE)
			s->v[s->n++] = p;
	qsort(s->v, s->n, sizeof(*s->v), by_address);
}

int memcheck_leaks(struct memcheck *m, struct target *t, struct err *e)
{
	struct search s = {.m = m, .t = t};
	int r;

	/* what a thread frees after its last event, as libc does for a detached one, is not told */
	blocks_read(&m->blocks, t->pid);
	list(&s);
	scan_registers(&s);
	r = scan_roots(&s, e);
	while (!r && s.ntodo) {
		struct heap_piece *p = s.todo[--s.ntodo];

		scan(&s, p->at, p->at + p->len);
	}
	for (size_t k = 0; !r && k < s.n; k++) {
		struct heap_piece *p = s.v[k];

		if (p->reached || !p->made.thread) {
			m->reachable += p->len;
			m->reachable_blocks++;
		} else {
			memcheck_add(m, FINDING_LEAK, &p->made, false, p->at, p->len, p);
		}
	}
	m->leaks_known = !r;
	free(s.v);
	free(s.todo);
	return r;
}
