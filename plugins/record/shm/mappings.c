/* SPDX-License-Identifier: MIT */
/* mappings.c: the table of the mappings that processes of a group may share, or that a process has more than once. */
#include "record/core/state.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"

struct pages pages = {.lo = ~0ull};

struct mapping *mapping_of(uint64_t a)
{
	if (likely(a < pages.lo || a >= pages.hi))
		return 0;
	for (uint32_t i = 0; i < pages.nmaps; i++)
		if (a >= pages.maps[i].lo && a < pages.maps[i].hi)
			return &pages.maps[i];
	return 0;
}

int pages_at(const void *p)
{
	return mapping_of((uint64_t)p) != 0;
}

int pages_range(const void *p, uint64_t len)
{
	uint64_t a = (uint64_t)p;

	if (likely(a >= pages.hi || a + len <= pages.lo))
		return 0;
	for (uint32_t i = 0; i < pages.nmaps; i++)
		if (a < pages.maps[i].hi && a + len > pages.maps[i].lo)
			return 1;
	return 0;
}

int pages_any(void)
{
	for (uint32_t i = 0; i < pages.nmaps; i++)
		if (pages.maps[i].hi)
			return 1;
	return 0;
}

int pages_of_file(uint64_t dev, uint64_t ino)
{
	for (uint32_t i = 0; i < pages.nmaps; i++)
		if (pages.maps[i].hi && pages.maps[i].kind == REGION_FILE && pages.maps[i].ino == ino &&
		    pages.maps[i].dev == dev)
			return 1;
	return 0;
}

int mapping_same(const struct mapping *a, const struct mapping *b)
{
	return a->hi && b->hi && a->kind == b->kind && a->ino == b->ino && a->dev == b->dev && (a->ino || a->dev);
}

struct mapping *mapping_alias(const struct mapping *m, uint32_t i, uint32_t *k, uint32_t *j)
{
	uint64_t page = (uint64_t)m->first + i;

	while (*k < pages.nmaps) {
		struct mapping *o = &pages.maps[(*k)++];

		if (o == m || !mapping_same(o, m) || page < o->first || page - o->first >= pages_of(o))
			continue;
		*j = (uint32_t)(page - o->first);
		if (!o->state || !(o->state[*j] & GONE))
			return o;
	}
	return 0;
}

/* Threads of a parallel recording may map at the same time; the lock is held for a few instructions. */
static uint32_t table;

void mappings_lock(void)
{
	while (__atomic_exchange_n(&table, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

void mappings_unlock(void)
{
	__atomic_store_n(&table, 0, __ATOMIC_RELEASE);
}

void mappings_widen(uint64_t lo, uint64_t hi)
{
	if (lo < pages.lo)
		pages.lo = lo;
	if (hi > pages.hi)
		pages.hi = hi;
}

/*
 * The memory is kept away from the program's mappings: if the program accesses memory beyond one of its own, it must
 * get a fault, and not change this. Memory that was given back is used again when the end of the area has been reached.
 */
#define TRIES 1024u
void *pages_alloc(uint64_t len)
{
	static uint64_t next = SHIM_PAGES_ADDR;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p;

	for (unsigned i = 0; i < TRIES && len <= SHIM_OWN_END_ADDR - SHIM_PAGES_ADDR; i++) {
		if (len > SHIM_OWN_END_ADDR - next)
			next = SHIM_PAGES_ADDR;
		p = raw_mmap((void *)next, len, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
		next += (len + PAGE - 1) & ~(PAGE - 1);
		if ((long)p != -17 /* EEXIST */)
			return p;
	}
	return raw_mmap(0, len, PROT_READ | PROT_WRITE, flags, -1, 0);
}
