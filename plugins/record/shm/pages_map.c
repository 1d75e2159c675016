/* SPDX-License-Identifier: MIT */
/* pages_map.c: the mappings that processes of a group may share (pages.c), and those that a fork would make such. */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"
#include "record/store/files.h"
#include "record/store/log.h"

#include <string.h>

/* ---- mappings come and go ---- */

static void *map_copy(const char *kept, uint64_t len, uint64_t off)
{
	void *at = pages_alloc(len);
	int fd = kept ? raw_open(kept, O_RDONLY, 0) : -1;

	/* what lies past the file's end stays zero */
	if (fd >= 0 && !raw_failed(at)) {
		uint64_t st[18] = {0}, n = 0;

		if (raw2(SYS_fstat, fd, st) == 0 && st[6] > off)
			n = (st[6] - off + PAGE - 1) & ~(PAGE - 1);
		if (n)
			raw_mmap(at, n < len ? n : len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, (long)off);
		raw_close(fd);
	}
	return at;
}

/* Copies to the shadow what the process knows of the memory through its other mappings. */
static void *as_elsewhere(const struct mapping *m, uint8_t *shadow)
{
	for (uint32_t k = 0; !raw_failed(shadow) && k < pages.nmaps; k++) {
		const struct mapping *o = &pages.maps[k];
		uint64_t lo = o->first > m->first ? o->first : m->first, end = (uint64_t)o->first + pages_of(o);

		if (o == m || !o->state || !mapping_same(o, m))
			continue;
		if (end > (uint64_t)m->first + pages_of(m))
			end = (uint64_t)m->first + pages_of(m);
		for (; lo < end; lo++)
			if (!(o->state[lo - o->first] & GONE))
				memcpy(shadow + (lo - m->first) * PAGE, shadow_at(o, (uint32_t)(lo - o->first)), PAGE);
	}
	return shadow;
}

/*
 * From here on, the mapping is followed. Its contents now are what the process knows: zeros (anonymous), or the file as
 * in the recording's copy.
 */
void *pages_shadow(const struct mapping *m)
{
	char path[400];

	if (m->kept[1])
		files_copy_path(path, path + sizeof(path), m->kept);
	return as_elsewhere(m, map_copy(m->kept[1] ? path : 0, m->hi - m->lo, m->first * PAGE));
}

void mapping_states(struct mapping *m)
{
	uint64_t n = pages_of(m);

	m->state = pages_alloc(n);
	m->use = pages_alloc(n * sizeof(*m->use));
	if (raw_failed(m->state) || raw_failed(m->use))
		shim_fail("no memory to follow shared memory");
}

void mapping_forget(const struct mapping *m)
{
	raw2(SYS_munmap, m->state, pages_of(m));
	raw2(SYS_munmap, m->use, pages_of(m) * sizeof(*m->use));
	raw2(SYS_munmap, m->shadow, m->hi - m->lo);
}

static void follow(struct mapping *m, void *shadow)
{
	uint32_t n = pages_of(m);

	m->region = group_region(m->dev, m->ino);
	m->shadow = shadow;
	if (raw_failed(m->shadow))
		shim_fail("no memory to follow shared memory");
	mapping_states(m);
	memset(m->state, m->may | WRITE, n);
}

uint8_t pages_may(int prot)
{
	return (uint8_t)(((prot & PROT_READ) ? MAY_READ : 0) | ((prot & PROT_WRITE) ? MAY_WRITE : 0) |
			 ((prot & PROT_EXEC) ? MAY_EXEC : 0));
}

/* As PROT_*, at an address of it. */
int mapping_prot(const struct mapping *m, uint64_t a)
{
	uint8_t may = m->state ? m->state[(a - m->lo) / PAGE] : m->may;

	return ((may & MAY_READ) ? PROT_READ : 0) | ((may & MAY_WRITE) ? PROT_WRITE : 0) |
	       ((may & MAY_EXEC) ? PROT_EXEC : 0);
}

static struct mapping *free_entry(void)
{
	for (uint32_t i = 0; i < MAPPINGS; i++)
		if (!pages.maps[i].hi) {
			if (i >= pages.nmaps)
				pages.nmaps = i + 1;
			return &pages.maps[i];
		}
	return 0;
}

void pages_mapped(uint64_t lo, uint64_t len, int prot, enum region_kind kind, uint64_t dev, uint64_t ino, uint64_t off,
		  const uint64_t *kept)
{
	struct mapping *m;

	len = (len + PAGE - 1) & ~(PAGE - 1);
	pages_unmapped(lo, len);
	mappings_lock();
	m = free_entry();
	if (!m) {
		mappings_unlock();
		note(RLOG_NOTE_UNSUPPORTED, 0, "more shared mappings than fred can follow");
		return;
	}
	G.file_maps |= kind == REGION_FILE;
	*m = (struct mapping){.lo = lo,
			      .hi = lo + len,
			      .kind = kind,
			      .dev = dev,
			      .ino = ino,
			      .first = (uint32_t)(off / PAGE),
			      .may = pages_may(prot)};
	if (kept)
		memcpy(m->kept, kept, sizeof(m->kept));
	mappings_widen(lo, lo + len);
	mappings_unlock();
	if (G.mode == SHIM_REPLAY)
		alias_join(m);
	if (!G.group || G.mode != SHIM_RECORD)
		return;
	follow(m, pages_shadow(m));
	pages_set(m, 0, pages_of(m), kind == REGION_ANON ? READ : STALE);
}

/* Parts of it may be protected otherwise than the whole, as the pages around a stack are. */
static int see_protection(const struct map *is, void *arg)
{
	struct mapping *m = arg;
	uint64_t lo = is->lo > m->lo ? is->lo : m->lo, hi = is->hi < m->hi ? is->hi : m->hi;
	uint8_t may = (uint8_t)((is->perms[0] == 'r' ? MAY_READ : 0) | (is->perms[1] == 'w' ? MAY_WRITE : 0) |
				(is->perms[2] == 'x' ? MAY_EXEC : 0));

	for (uint64_t a = lo; a < hi; a += PAGE)
		m->state[(a - m->lo) / PAGE] = may | WRITE;
	return is->lo >= m->hi;
}

/* Makes memory readable that the program may not read, until its contents are copied. */
static void make_readable(const struct mapping *m)
{
	for (uint32_t i = 0, from; i < pages_of(m); i++) {
		for (from = i; i < pages_of(m) && !(m->state[i] & MAY_READ); i++)
			;
		if (i > from)
			raw3(SYS_mprotect, page_at(m, from), (i - from) * PAGE, PROT_READ);
	}
}

/* The mapping was private to this process until now: its contents are known. */
static void begin(struct mapping *m)
{
	uint32_t n = pages_of(m);

	follow(m, pages_alloc(m->hi - m->lo));
	maps_each(see_protection, m);
	make_readable(m); /* not earlier, since changing protections changes the kernel's list of mappings */
	for (uint32_t i = 0; i < n; i++) {
		unsigned char there = 0;

		if (raw3(SYS_mincore, page_at(m, i), PAGE, &there) < 0) {
			m->state[i] |= GONE;
			continue;
		}
		if (m->kind == REGION_FILE ? page_is_backed(m, page_at(m, i)) : there & 1)
			memcpy(shadow_at(m, i), page_at(m, i), PAGE);
	}
	pages_set(m, 0, n, READ);
	if (m->kind != REGION_ANON)
		group_journal(LOOKED | m->region, PAGES_ALL, 1);
}

void pages_begin(void)
{
	for (uint32_t k = 0; k < pages.nmaps; k++)
		if (pages.maps[k].hi)
			begin(&pages.maps[k]);
}

/* Reduces a mapping to its pages in [lo, hi). */
static void cut(struct mapping *m, uint64_t lo, uint64_t hi)
{
	struct mapping *rest;

	if (m->state) {
		for (uint32_t i = 0; i < pages_of(m); i++)
			if ((uint64_t)page_at(m, i) >= lo && (uint64_t)page_at(m, i) < hi)
				m->state[i] |= GONE;
	} else if (lo > m->lo) {
		mappings_lock();
		/* without a free entry, what is after a hole is treated as private from here on */
		rest = hi < m->hi ? free_entry() : 0;
		if (rest) {
			*rest = *m;
			rest->first += (uint32_t)((hi - m->lo) / PAGE);
			rest->lo = hi;
		}
		m->hi = lo;
		mappings_unlock();
	} else {
		m->first += (uint32_t)((hi - m->lo) / PAGE);
		m->lo = hi;
	}
}

void pages_unmapped(uint64_t lo, uint64_t len)
{
	uint64_t hi = lo + ((len + PAGE - 1) & ~(PAGE - 1));

	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];

		if (!m->hi || hi <= m->lo || lo >= m->hi)
			continue;
		if (lo > m->lo || hi < m->hi) {
			cut(m, lo, hi);
			continue;
		}
		if (m->state) {
			pages_settle();
			mapping_forget(m);
		}
		*m = (struct mapping){0};
	}
}

uint64_t pages_attached(const void *p)
{
	uint64_t at = (uint64_t)p;

	uint64_t end = at;

	/* parts of it may have been unmapped since */
	for (uint32_t k = 0; k < pages.nmaps; k++)
		if (pages.maps[k].hi > end && pages.maps[k].kind == REGION_SYSV &&
		    pages.maps[k].lo - pages.maps[k].first * PAGE == at)
			end = pages.maps[k].hi;
	return end - at;
}

void pages_protected(uint64_t lo, uint64_t len, int prot)
{
	uint8_t may = pages_may(prot);

	for (uint64_t a = lo & ~(PAGE - 1); a < lo + len; a += PAGE) {
		struct mapping *m = mapping_of(a);
		uint32_t i;

		if (m && !m->state && lo <= m->lo && lo + len >= m->hi)
			m->may = may;
		if (!m || !m->state)
			continue;
		i = (uint32_t)((a - m->lo) / PAGE);
		if (m->state[i] & GONE)
			continue;
		if (m->state[i] & OWNED)
			pages_disown(m, i);
		m->state[i] = (uint8_t)((m->state[i] & ~MAY) | may);
		pages_set(m, i, i + 1, m->state[i] & STATE);
	}
}
