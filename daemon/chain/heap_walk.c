/* SPDX-License-Identifier: MIT */
/* heap_walk.c: see heap_walk.h. */
#include "chain/heap_walk.h"

#include <string.h>

#include "rlog/replay.h"
#include "rlog/rlog.h"
#include "trace/trace.h"

bool heap_walk_begin(struct heap_walk *w, pid_t pid, uint64_t addr)
{
	uint64_t at, limit;

	if (addr >= SHIM_HEAP_MAIN_ADDR && addr < SHIM_HEAP_ADDR) {
		at = SHIM_HEAP_MAIN_ADDR;
		limit = SHIM_HEAP_ADDR;
	} else if (addr >= SHIM_HEAP_ADDR && addr < SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32)) {
		at = SHIM_HEAP_ADDR + ((addr - SHIM_HEAP_ADDR) >> 32 << 32);
		limit = at + (1ull << 32);
		at += addr < SHIM_HEAP_ADDR + (1ull << 32) ? 0 : HEAP_ARENA_HEAD;
	} else {
		return false;
	}
	w->pid = pid;
	w->next = at;
	w->limit = limit;
	w->lo = w->hi = 0;
	w->first = true;
	return true;
}

static bool read_header(struct heap_walk *w)
{
	struct err ignored;

	if (w->at < w->lo || w->at + sizeof(w->b) > w->hi) {
		size_t n = HEAP_WALK_CHUNK;

		while (n > sizeof(w->b) && trace_read(w->pid, w->at, w->chunk, n, &ignored))
			n /= 2;
		w->lo = w->at;
		w->hi = n <= sizeof(w->b) ? w->at : w->at + n;
		if (w->hi == w->lo)
			return false;
	}
	memcpy(&w->b, w->chunk + (w->at - w->lo), sizeof(w->b));
	return true;
}

static bool is_block(const struct heap_block *b)
{
	return (b->magic == HEAP_USED || b->magic == HEAP_FREE) && b->cls < HEAP_CLASSES;
}

bool heap_walk_next(struct heap_walk *w)
{
	bool first = w->first;

	w->first = false;
	w->at = w->next;
	if (w->at >= w->limit || !read_header(w))
		return false;
	if (first && !is_block(&w->b)) {
		w->at += HEAP_FIRST;
		if (!read_header(w))
			return false;
	}
	if (!is_block(&w->b))
		return false;
	w->next = heap_walk_end(w);
	return true;
}

uint64_t heap_walk_end(const struct heap_walk *w)
{
	return w->at + sizeof(w->b) + heap_class_size(w->b.cls);
}
