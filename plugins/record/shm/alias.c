/* SPDX-License-Identifier: MIT */
/*
 * alias.c: replay: memory that the process has mapped more than once, such as a ring buffer that continues in a second
 * mapping of itself. What is written at one address can be read at the others at once, without an event: so they are
 * the same memory in a replay too, shared and anonymous. All other memory of a replay is private, and this is private,
 * too, until it is mapped a second time.
 *
 * A fork shares it with the child. A copy of a replaying process must not write into it: it gets its own, in place of
 * it, before either of them goes on; so does a child that waits while its parent goes on (proc/proc.c). The tracer does
 * that for the copies that it makes (trace/inject.c).
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"

#include <string.h>
#include <sys/uio.h>

#define CHUNK 65536ul
#define SPREAD_MAX 2048u

static int made; /* the process has, or had, such memory */

/* ---- one mapping more ---- */

long spare_place(long len)
{
	for (long at = REPLAY_MOVED_ADDR; at <= (long)REPLAY_REPORT_ADDR - len; at += (len + 4095) & ~4095l)
		if (!raw_failed(raw_mmap((void *)at, (size_t)len, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)))
			return at;
	shim_fail("no place for a mapping that is being moved");
}

static int prot_of(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

static int may_prot(const struct mapping *m)
{
	return ((m->may & MAY_READ) ? PROT_READ : 0) | ((m->may & MAY_WRITE) ? PROT_WRITE : 0) |
	       ((m->may & MAY_EXEC) ? PROT_EXEC : 0);
}

/* New memory of this kind, zeroed, at an address that no mapping of the program's gets. */
static uint8_t *new_shared(uint64_t len)
{
	long at = spare_place((long)len);

	if ((long)raw_mmap((void *)at, len, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != at)
		shim_fail("no memory for what is mapped more than once");
	made = G.ctl->aliases = 1;
	return (uint8_t *)at;
}

/* Maps the memory at `from` at another address as well. */
static void map_again(uint64_t from, uint64_t to, uint64_t len, int prot)
{
	if (raw6(SYS_mremap, (long)from, 0, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) != (long)to ||
	    raw3(SYS_mprotect, to, len, prot) < 0)
		shim_fail("cannot map memory a second time at its recorded address");
}

/* Pages of zeros are left as they are: they take no memory. */
static void copy_pages(uint8_t *to, const uint8_t *from, uint64_t len)
{
	static const uint8_t zeros[PAGE];

	for (uint64_t o = 0; o < len; o += PAGE)
		if (memcmp(from + o, zeros, PAGE))
			memcpy(to + o, from + o, PAGE);
}

#define USED (3ull << 62) /* in an entry of proc_pid_pagemap(5): in memory, or swapped out */

/* The first page from `at` on that was ever used; a page of which this is not known counts as used. */
static uint64_t next_used(int pagemap, uint64_t at, uint64_t end)
{
	uint64_t entry[512];

	while (at < end) {
		uint64_t n = (end - at) / PAGE < 512 ? (end - at) / PAGE : 512;
		long got = raw4(SYS_pread64, pagemap, entry, n * sizeof(entry[0]), at / PAGE * sizeof(entry[0]));

		if (got < (long)sizeof(entry[0]))
			return at;
		for (long i = 0; i < got / (long)sizeof(entry[0]); i++)
			if (entry[i] & USED)
				return at + (uint64_t)i * PAGE;
		at += (uint64_t)got / sizeof(entry[0]) * PAGE;
	}
	return end;
}

/*
 * Copies what can be read from `from` on. Returns the number of bytes, whole pages: less than len at the end of a file.
 * anonymous: pages that were never used are zeros in `to` already.
 */
static uint64_t copy_readable(uint8_t *to, uint64_t from, uint64_t len, int anonymous)
{
	int pagemap = anonymous ? raw_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0) : -1;
	uint8_t *chunk = (uint8_t *)spare_place(CHUNK);
	uint64_t done = 0;

	while (raw3(SYS_mprotect, chunk, CHUNK, PROT_READ | PROT_WRITE) == 0 && done < len) {
		uint64_t at = pagemap >= 0 ? next_used(pagemap, from + done, from + len) : from + done;
		uint64_t n = from + len - at < CHUNK ? from + len - at : CHUNK;
		struct iovec l = {chunk, n}, r = {(void *)at, n};
		long got;

		done = at - from;
		G.ctl->own_work++;
		if (!n)
			break;
		got = raw6(SYS_process_vm_readv, G.pid, (long)&l, 1, (long)&r, 1, 0);
		if (got < (long)PAGE)
			break;
		copy_pages(to + done, chunk, (uint64_t)got & ~(PAGE - 1));
		done += (uint64_t)got & ~(PAGE - 1);
	}
	raw2(SYS_munmap, chunk, CHUNK);
	if (pagemap >= 0)
		raw_close(pagemap);
	return done;
}

/*
 * Turns private memory into memory that can be mapped again, with the same contents. Returns how much of it: what is
 * past the end of a file cannot be.
 */
static uint64_t make_shared(uint64_t at, uint64_t len, int prot, int anonymous)
{
	uint8_t *to = new_shared(len);
	uint64_t n;

	if (!(prot & PROT_READ))
		raw3(SYS_mprotect, at, len, PROT_READ);
	n = copy_readable(to, at, len, anonymous);
	if (n && raw6(SYS_mremap, (long)to, (long)n, (long)n, MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0) != (long)at)
		shim_fail("cannot share memory at its recorded address");
	if (n < len)
		raw2(SYS_munmap, to + n, len - n);
	raw3(SYS_mprotect, at, len, prot);
	return n;
}

struct area {
	uint64_t at, hi;
	int shared, prot, anonymous;
};

static int area_at(const struct map *m, void *arg)
{
	struct area *a = arg;

	if (a->at < m->lo || a->at >= m->hi)
		return 0;
	a->hi = m->hi;
	a->shared = m->perms[3] == 's';
	a->prot = prot_of(m->perms);
	a->anonymous = !m->inode;
	return 1;
}

static void share(uint64_t from, uint64_t to, uint64_t len, int prot)
{
	while (len) {
		struct area a = {.at = from};
		uint64_t n, got;

		if (maps_each(area_at, &a) != 1)
			return;
		n = got = a.hi - from < len ? a.hi - from : len;
		if (!a.shared)
			got = make_shared(from, n, a.prot, a.anonymous);
		if (got)
			map_again(from, to, got, prot);
		from += n;
		to += n;
		len -= n;
	}
}

void alias_join(const struct mapping *m)
{
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		const struct mapping *o = &pages.maps[k];
		uint64_t lo, end;

		if (o == m || !mapping_same(o, m))
			continue;
		lo = o->first > m->first ? o->first : m->first;
		end = (uint64_t)o->first + pages_of(o);
		if (end > (uint64_t)m->first + pages_of(m))
			end = (uint64_t)m->first + pages_of(m);
		if (lo < end)
			share(o->lo + (lo - o->first) * PAGE, m->lo + (lo - m->first) * PAGE, (end - lo) * PAGE,
			      may_prot(m));
	}
}

void alias_make_room(const struct mapping *m, uint32_t i)
{
	uint64_t page = (uint64_t)page_at(m, i);
	uint32_t k = 0, j;
	const struct mapping *o = mapping_alias(m, i, &k, &j);
	int kind = o ? MAP_SHARED : MAP_PRIVATE;

	raw_mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (; o; o = mapping_alias(m, i, &k, &j)) {
		made = G.ctl->aliases = 1;
		map_again(page, (uint64_t)page_at(o, j), PAGE, may_prot(o));
	}
}

int pages_grown(uint64_t page)
{
	const struct mapping *m = mapping_of(page);

	if (m)
		alias_make_room(m, (uint32_t)((page - m->lo) / PAGE));
	return m != 0;
}

/* ---- copies of the process ---- */

struct part { /* a mapping of such memory */
	uint64_t lo, hi, off, inode;
	uint64_t own; /* address of the copy's own memory for what is at off */
	int prot;
};

struct alias_own {
	uint32_t parts;
	struct part part[SPREAD_MAX];
};

static int is_ours(const struct map *m)
{
	return m->perms[3] == 's' && !shim_owns(m->lo) &&
	       (!strncmp(m->path, "/dev/zero", 9) ||
		!strncmp(m->path, "/memfd:", 7)); /* the latter after a checkpoint */
}

static int collect(const struct map *m, void *arg)
{
	struct alias_own *own = arg;

	if (!is_ours(m))
		return 0;
	if (own->parts == SPREAD_MAX)
		return 1;
	own->part[own->parts++] = (struct part){m->lo, m->hi, m->off, m->inode, 0, prot_of(m->perms)};
	return 0;
}

static void copy_part(const struct part *p, uint8_t *to)
{
	uint64_t len = p->hi - p->lo, at = (uint64_t)spare_place((long)len);

	map_again(p->lo, at, len, PROT_READ);
	copy_pages(to, (const uint8_t *)at, len);
	raw2(SYS_munmap, at, len);
}

/* One object, of which own->part[first] is the first part. */
static void copy_object(struct alias_own *own, uint32_t first)
{
	uint64_t inode = own->part[first].inode, lo = ~0ull, hi = 0;
	uint8_t *to;

	for (uint32_t i = first; i < own->parts; i++) {
		const struct part *p = &own->part[i];

		if (p->inode == inode && p->off < lo)
			lo = p->off;
		if (p->inode == inode && p->off + (p->hi - p->lo) > hi)
			hi = p->off + (p->hi - p->lo);
	}
	to = new_shared(hi - lo);
	for (uint32_t i = first; i < own->parts; i++) {
		struct part *p = &own->part[i];

		if (p->inode != inode)
			continue;
		p->own = (uint64_t)to + (p->off - lo);
		copy_part(p, (uint8_t *)p->own);
	}
}

int alias_own_try(uint64_t most, struct alias_own **out)
{
	struct alias_own *own;
	uint64_t total = 0;

	*out = 0;
	if (!made)
		return 0;
	own = pages_alloc(sizeof(*own));
	if (raw_failed(own))
		return -1;
	if (maps_each(collect, own) == 0)
		for (uint32_t i = 0; i < own->parts; i++)
			total += own->part[i].hi - own->part[i].lo;
	else
		total = ~0ull;
	if (total > most) {
		raw2(SYS_munmap, own, sizeof(*own));
		return -1;
	}
	for (uint32_t i = 0; i < own->parts; i++)
		if (!own->part[i].own)
			copy_object(own, i);
	*out = own;
	return 0;
}

struct alias_own *alias_own_make(void)
{
	struct alias_own *own;

	if (alias_own_try(~0ull - 1, &own))
		shim_fail("too many mappings of memory that is mapped more than once, or no memory for a copy of it");
	return own;
}

void alias_own_drop(struct alias_own *own)
{
	for (uint32_t i = 0; own && i < own->parts; i++)
		raw2(SYS_munmap, own->part[i].own, own->part[i].hi - own->part[i].lo);
	if (own)
		raw2(SYS_munmap, own, sizeof(*own));
}

void alias_own_take(struct alias_own *own)
{
	if (own)
		G.ctl->aliases = 1; /* the copy may have its own control page by now */
	for (uint32_t i = 0; own && i < own->parts; i++) {
		const struct part *p = &own->part[i];

		map_again(p->own, p->lo, p->hi - p->lo, p->prot);
	}
	alias_own_drop(own);
}
