/* SPDX-License-Identifier: MIT */
/* real.c: finds the functions that the recorder's wrappers call (real.def) in the libraries. */
#include "record/core/real.h"
#include "record/core/state.h"

#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

void *real_table[REAL_COUNT];

static const struct {
	const char *name, *version;
	int optional;
} real_names[REAL_COUNT] = {
#define REALFN(name, version) {#name, version, 0},
#define REALOPT(name) {#name, 0, 1},
#include "record/core/real.def"
#undef REALOPT
#undef REALFN
};

/* ---- a lookup without libc's own, which takes locks and allocates ---- */

struct symbols {
	const ElfW(Sym) * sym;
	const char *str;
	const uint32_t *hash; /* DT_GNU_HASH */
};

/* 0, or -1: the object lacks what a lookup needs (as does the vDSO, whose addresses are not relocated). */
static int find_symbols(const struct link_map *m, struct symbols *s)
{
	*s = (struct symbols){0};
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			s->sym = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			s->str = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			s->hash = (const void *)d->d_un.d_ptr;
	}
	return s->sym && s->str && s->hash && (uint64_t)s->hash >= m->l_addr ? 0 : -1;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

void *dl_find_in(const struct link_map *m, const char *name)
{
	struct symbols s;
	uint32_t h = gnu_hash(name), i, first;
	const uint32_t *buckets, *chain;

	if (find_symbols(m, &s) || s.hash[0] == 0)
		return 0;
	first = s.hash[1];
	buckets = s.hash + 4 + s.hash[2] * (sizeof(ElfW(Addr)) / 4);
	chain = buckets + s.hash[0];
	i = buckets[h % s.hash[0]];
	if (i < first)
		return 0;
	for (;; i++) {
		if ((chain[i - first] | 1) == (h | 1) && s.sym[i].st_shndx != SHN_UNDEF &&
		    same(s.str + s.sym[i].st_name, name))
			return (void *)(m->l_addr + s.sym[i].st_value);
		if (chain[i - first] & 1)
			return 0;
	}
}

void *dl_find_real(const char *name)
{
	const ElfW(Dyn) *ours = _DYNAMIC;
	void *at;

	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (m->l_ld != ours && (at = dl_find_in(m, name)) != 0)
			return at;
	return 0;
}

const struct link_map *dl_first_with(const char *name)
{
	const struct link_map *m = _r_debug.r_map;

	while (m && !dl_find_in(m, name))
		m = m->l_next;
	return m;
}

const struct link_map *dl_object_of(const void *addr)
{
	const struct link_map *best = _r_debug.r_map;

	for (const struct link_map *m = best; m; m = m->l_next)
		if (m->l_addr <= (uint64_t)addr && m->l_addr > best->l_addr)
			best = m;
	return best;
}

/* Does a library after the recorder define it? RTLD_NEXT finds only these. */
static int comes_after_us(const char *name)
{
	const ElfW(Dyn) *ours = _DYNAMIC;
	int after_us = 0;

	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (after_us && dl_find_in(m, name))
			return 1;
		after_us |= m->l_ld == ours;
	}
	return 0;
}

/* ---- the table ---- */

const char *real_find(void)
{
	real_table[REAL_dlsym] = dl_find_real("dlsym");
	real_table[REAL_dlvsym] = dl_find_real("dlvsym");
	if (!real_table[REAL_dlsym] || !real_table[REAL_dlvsym])
		return "dlsym";
	for (int i = 0; i < REAL_COUNT; i++) {
		/*
		 * dlsym allocates the text of an error, which would start the program's own allocator before there is a
		 * log for the clocks that it reads.
		 */
		if (real_names[i].optional && !comes_after_us(real_names[i].name))
			continue;
		real_table[i] = real_names[i].version
					? REAL(dlvsym)(RTLD_NEXT, real_names[i].name, real_names[i].version)
					: REAL(dlsym)(RTLD_NEXT, real_names[i].name);
		if (!real_table[i] && !real_names[i].optional)
			return real_names[i].name;
	}
	return 0;
}

int real_has(const char *name)
{
	for (int i = 0; i < REAL_COUNT; i++)
		if (same(real_names[i].name, name))
			return 1;
	return 0;
}

void *real_late(enum real_id id)
{
	if (unlikely(!real_table[id]))
		real_table[id] = dl_find_real(real_names[id].name);
	return real_table[id];
}
