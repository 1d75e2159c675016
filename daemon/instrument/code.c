/* SPDX-License-Identifier: MIT */
/* code.c: see code.h. */
#include "instrument/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/maps.h"
#include "base/str.h"

static bool is_it(const struct code_mapping *m, const struct mapping *v)
{
	return !m->until && m->lo == v->lo && m->hi == v->hi && m->offset == v->offset && m->inode == v->inode &&
	       m->changes == (v->write || v->shared) && !strcmp(m->path, v->path);
}

static void see(struct code *c, const struct mapping *v)
{
	for (size_t k = 0; k < c->n; k++)
		if (is_it(&c->v[k], v)) {
			c->v[k].seen = true;
			return;
		}
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 64;
		c->v = xreallocarray(c->v, c->cap, sizeof(*c->v));
	}
	c->v[c->n++] = (struct code_mapping){.lo = v->lo,
					     .hi = v->hi,
					     .offset = v->offset,
					     .inode = v->inode,
					     .from = c->now,
					     .changes = v->write || v->shared,
					     .seen = true,
					     .path = xstrdup(v->path)};
}

/* A compiler's, which comes and goes as it likes, and is decoded anew anyway; a copy's translated code is such memory,
 * too. */
static bool is_written(const struct code_mapping *m)
{
	return m->changes && !m->inode;
}

int code_see(struct code *c, pid_t pid, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	size_t before = c->n;
	struct mapping v;
	int gone = 0;

	if (maps_open(&maps, pid, e))
		return -1;
	for (size_t k = 0; k < c->n; k++)
		c->v[k].seen = false;
	while (maps_next(&maps, &v))
		if (v.exec)
			see(c, &v);
	for (size_t k = 0; !maps_is_dead(pid) && k < before; k++)
		if (!c->v[k].seen && !c->v[k].until && !is_written(&c->v[k])) {
			c->v[k].until = c->now + 1;
			gone = 1;
		}
	c->now += (uint32_t)gone;
	for (size_t k = before; k < c->n; k++)
		c->v[k].from = c->now;
	return gone;
}

void code_fini(struct code *c)
{
	for (size_t k = 0; k < c->n; k++)
		free(c->v[k].path);
	free(c->v);
	*c = (struct code){0};
}

const struct code_mapping *code_at(const struct code *c, uint64_t addr, uint32_t state)
{
	for (size_t k = 0; k < c->n; k++) {
		const struct code_mapping *m = &c->v[k];

		if (addr >= m->lo && addr < m->hi && state >= m->from && (!m->until || state < m->until))
			return m;
	}
	return NULL;
}
