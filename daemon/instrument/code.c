/* SPDX-License-Identifier: MIT */
/* code.c: see code.h. */
#include "instrument/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/maps.h"
#include "base/str.h"

static struct code_mapping *add(struct code_mappings *l, struct code_mapping m)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->v = xreallocarray(l->v, l->cap, sizeof(*l->v));
	}
	l->v[l->n] = m;
	return &l->v[l->n++];
}

static void fini(struct code_mappings *l)
{
	for (size_t k = 0; k < l->n; k++)
		free(l->v[k].path);
	free(l->v);
	*l = (struct code_mappings){0};
}

/* Can its code change? Anonymous memory with code was written once, and may become writable again. */
static bool changes(const struct mapping *v)
{
	return v->write || v->shared || !v->inode;
}

/* Adds a mapping. Adjacent parts of one mapping are joined, since the kernel joins and splits them by their rights. */
static void see(struct code_mappings *l, const struct mapping *v)
{
	struct code_mapping *m = l->n ? &l->v[l->n - 1] : NULL;

	if (m && m->hi == v->lo && m->inode == v->inode && m->changes == changes(v) && !strcmp(m->path, v->path) &&
	    (!v->inode || m->offset + (m->hi - m->lo) == v->offset)) {
		m->hi = v->hi;
		return;
	}
	add(l, (struct code_mapping){.lo = v->lo,
				     .hi = v->hi,
				     .offset = v->offset,
				     .inode = v->inode,
				     .from = UINT32_MAX,
				     .changes = changes(v),
				     .path = xstrdup(v->path)});
}

/* Does v still contain all of the code that was executed in m? */
static bool keeps(const struct code_mapping *v, const struct code_mapping *m)
{
	return m->used_lo >= v->lo && m->used_hi <= v->hi && m->inode == v->inode && m->changes == v->changes &&
	       (!m->inode || m->lo - m->offset == v->lo - v->offset) && !strcmp(m->path, v->path);
}

static void use(struct code_mapping *m, uint64_t lo, uint64_t hi)
{
	m->used_lo = m->used_hi && m->used_lo < lo ? m->used_lo : lo;
	m->used_hi = m->used_hi > hi ? m->used_hi : hi;
}

/*
 * Keeps what is known about mappings that still exist; others, if instructions were met there, go to c->gone. Are there
 * any?
 */
static int compare(struct code *c, struct code_mappings *now)
{
	size_t at = 0;
	int gone = 0;

	for (size_t k = 0; k < c->now_there.n; k++) {
		struct code_mapping *m = &c->now_there.v[k];

		if (!m->used_hi)
			continue;
		while (at < now->n && now->v[at].hi <= m->used_lo)
			at++;
		if (at < now->n && keeps(&now->v[at], m)) {
			use(&now->v[at], m->used_lo, m->used_hi);
			now->v[at].from = m->from < now->v[at].from ? m->from : now->v[at].from;
			continue;
		}
		m->until = c->now + 1;
		add(&c->gone, *m);
		m->path = NULL;
		gone = 1;
	}
	return gone;
}

int code_see(struct code *c, pid_t pid, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct code_mappings now = {0};
	struct mapping v;
	int gone;

	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &v))
		if (v.read)
			see(&now, &v);
	if (maps_is_dead(pid)) {
		fini(&now);
		return 0;
	}
	gone = compare(c, &now);
	c->now += (uint32_t)gone;
	for (size_t k = 0; k < now.n; k++)
		if (now.v[k].from == UINT32_MAX)
			now.v[k].from = c->now;
	fini(&c->now_there);
	c->now_there = now;
	return gone;
}

void code_fini(struct code *c)
{
	fini(&c->now_there);
	fini(&c->gone);
	*c = (struct code){0};
}

static struct code_mapping *there(const struct code *c, uint64_t addr)
{
	size_t lo = 0, hi = c->now_there.n;

	while (lo < hi) {
		size_t k = (lo + hi) / 2;
		struct code_mapping *m = &c->now_there.v[k];

		if (addr < m->lo)
			hi = k;
		else if (addr >= m->hi)
			lo = k + 1;
		else
			return m;
	}
	return NULL;
}

const struct code_mapping *code_use(struct code *c, uint64_t addr)
{
	struct code_mapping *m = there(c, addr);

	if (m)
		use(m, addr, addr + 1);
	return m;
}

const struct code_mapping *code_at(const struct code *c, uint64_t addr, uint32_t state)
{
	const struct code_mapping *m = there(c, addr);

	if (m && state >= m->from)
		return m;
	for (size_t k = 0; k < c->gone.n; k++) {
		m = &c->gone.v[k];
		if (addr >= m->lo && addr < m->hi && state >= m->from && state < m->until)
			return m;
	}
	return NULL;
}

bool code_is_same(const struct code *c, uint64_t addr, uint32_t a, uint32_t b)
{
	return a == b || code_at(c, addr, a) == code_at(c, addr, b);
}
