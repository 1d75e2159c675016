/* SPDX-License-Identifier: MIT */
/*
 * broken.c: malloc or free refused to go on, because their own data in the heap was overwritten. The blocks of an arena
 * lie one after the other, so going through them finds the first word that is not as malloc wrote it. From there, the
 * replay goes back from write to write of that word, to the one that damaged it.
 */
#include <string.h>

#include "chain/heap_walk.h"
#include "chain/inspect.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "timetravel/cursor_int.h"

#define WRITES 64u

enum broken_kind {
	BROKEN_END, /* the word after a block's bytes */
	BROKEN_HEADER, /* what is in front of a block's bytes, or where the next block would be */
	BROKEN_LINK, /* of a freed block, to the next one */
};
struct broken {
	enum broken_kind kind;
	uint64_t at; /* 8 bytes */
	uint64_t header; /* of the block */
	uint64_t size; /* of the block */
};

static bool read_header(struct explain *x, uint64_t at, struct heap_block *b)
{
	struct err ignored;

	return !trace_read(cursor_memory(&x->t), at, b, sizeof(*b), &ignored);
}

/* Is it a header as malloc writes it, or memory that malloc has not used yet? */
static bool is_header(const struct heap_block *b)
{
	static const struct heap_block fresh;

	if (!memcmp(b, &fresh, sizeof(*b)))
		return true;
	if (b->cls >= HEAP_CLASSES)
		return false;
	return b->magic == HEAP_FREE ||
	       (b->magic == HEAP_USED && heap_usable_of(b->size) + sizeof(uint64_t) <= heap_class_size(b->cls));
}

static bool is_link(struct explain *x, uint64_t at)
{
	uint64_t to = failure_word(x, at);
	struct heap_block b;

	return !to || (to % 16 == 0 && read_header(x, to - sizeof(b), &b) && b.magic == HEAP_FREE);
}

/* In the state where the program stands: is the word as malloc wrote it? */
static bool is_whole(struct explain *x, const struct broken *d)
{
	struct heap_block b;

	switch (d->kind) {
	case BROKEN_END:
		return failure_word(x, d->at) == HEAP_WORD;
	case BROKEN_HEADER:
		return read_header(x, d->header, &b) && is_header(&b);
	default:
		return is_link(x, d->at);
	}
}

/* Is something of the block damaged? *d: what. */
static bool block_is_broken(struct explain *x, const struct heap_walk *w, struct broken *d)
{
	uint64_t memory = w->at + sizeof(w->b), n = heap_block_size(&w->b);

	*d = (struct broken){BROKEN_HEADER, w->at, w->at, n};
	if (!is_header(&w->b)) {
		d->at += w->b.magic == HEAP_USED ? offsetof(struct heap_block, size) : 0;
		return true;
	}
	if (w->b.magic == HEAP_FREE) {
		*d = (struct broken){BROKEN_LINK, memory, w->at, heap_class_size(w->b.cls)};
		if (!is_whole(x, d))
			return true;
	}
	d->kind = BROKEN_END;
	d->at = memory + heap_usable_of(n);
	if (w->b.magic == HEAP_USED && n < HEAP_MAPPED_MIN && !is_whole(x, d))
		return true;
	d->at = heap_walk_end(w) - sizeof(uint64_t);
	return !is_whole(x, d);
}

/* The first damaged word in the arena of addr. */
static bool find_broken(struct explain *x, uint64_t addr, struct broken *d)
{
	struct heap_walk w;

	if (!heap_walk_begin(&w, cursor_memory(&x->t), addr))
		return false;
	while (heap_walk_next(&w))
		if (block_is_broken(x, &w, d))
			return true;
	*d = (struct broken){BROKEN_HEADER, w.at, w.at, 0};
	return read_header(x, w.at, &w.b) && !is_header(&w.b);
}

/* Back to the write before which the word was whole. 0; 1: it is not found; -1. */
static int to_write(struct explain *x, const struct broken *d, struct err *e)
{
	bool ignored;

	for (unsigned n = 0; n < WRITES && !explain_is_over(x); n++) {
		int r = flow_last_write(x, d->at, 8, 0, &ignored, e);

		if (r)
			return r < 0 ? -1 : 1;
		if (is_whole(x, d))
			return 0;
	}
	return 1;
}

static void tell_write(struct inspect *p, const struct broken *d)
{
	unsigned long long memory = d->header + sizeof(struct heap_block), size = d->size;

	if (d->kind == BROKEN_END)
		inspect_step(p, STEP_WRITE, NULL, NULL, NULL,
			     "this wrote past the end of the block of %llu bytes at 0x%llx", size, memory);
	else if (d->kind == BROKEN_HEADER)
		inspect_step(p, STEP_WRITE, NULL, NULL, NULL, "this wrote over malloc's header of the block at 0x%llx",
			     memory);
	else
		inspect_step(p, STEP_WRITE, NULL, NULL, NULL,
			     "this wrote to the block of %llu bytes at 0x%llx after it was freed", size, memory);
}

/* The program stands at a write to a freed block: adds the step for the free. */
static int tell_free(struct explain *x, const struct broken *d, struct err *e)
{
	int r = failure_tell_block(x, d->header, STEP_FREE, "freed", ", and used afterwards", e);

	if (r)
		return r < 0 ? -1 : 0;
	explain_end(x, END_FREED, "the memory was used after it was freed");
	return 0;
}

int failure_broken_heap(struct explain *x, uint64_t addr, struct err *e)
{
	struct inspect p = {0};
	struct broken d;
	int r;

	/* with --detect, and glibc's own, there are other things than these in the heap */
	if (x->rec->control.malloc_mode != RLOG_MALLOC_FRED || !find_broken(x, addr, &d))
		return 1;
	r = to_write(x, &d, e);
	if (r) {
		if (r > 0)
			explain_end(x, END_UNKNOWN, "what wrote over malloc's own data in the heap is not found");
		return r < 0 ? -1 : 0;
	}
	if (inspect_open(&p, x, e))
		r = -1;
	else
		tell_write(&p, &d);
	if (!r && d.kind == BROKEN_END)
		x->overrun =
			(struct explain_overrun){p.at, d.header + sizeof(struct heap_block), d.size, d.at, x->chain.n};
	inspect_close(&p);
	x->found = true;
	if (!r && d.kind == BROKEN_LINK)
		r = tell_free(x, &d, e);
	explain_end(x, END_COMPUTED, "the write was not meant for malloc's own data in the heap");
	return r;
}
