/* SPDX-License-Identifier: MIT */
/* alias.c: see alias.h. */
#include "trace/alias.h"
#include "base/str.h"
#include "trace/internal.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct alias {
	uint64_t lo, hi, offset, inode;
	uint64_t own; /* of the copy's own memory, what is at offset */
	int prot;
};

struct aliases {
	struct alias *v;
	size_t n, cap;
};

bool alias_is(const struct mapping *m)
{
	return m->shared && (str_starts(m->path, "/dev/zero") || str_starts(m->path, "/memfd:"));
}

static int list_aliases(pid_t pid, struct aliases *a, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		int prot = (m.read ? PROT_READ : 0) | (m.write ? PROT_WRITE : 0) | (m.exec ? PROT_EXEC : 0);

		if (!alias_is(&m))
			continue;
		if (a->n == a->cap) {
			a->cap = a->cap ? 2 * a->cap : 16;
			a->v = xrealloc(a->v, a->cap * sizeof(*a->v));
		}
		a->v[a->n++] = (struct alias){m.lo, m.hi, m.offset, m.inode, 0, prot};
	}
	return 0;
}

/* An object of its own in place of the one whose first mapping is a->v[first]; it stays mapped for those to come from
 * it. */
static int own_object(struct trace *t, uint64_t gadget, struct aliases *a, size_t first, struct err *e)
{
	uint64_t lo = UINT64_MAX, hi = 0, at;

	for (size_t i = first; i < a->n; i++) {
		const struct alias *p = &a->v[i];

		if (p->inode != a->v[first].inode)
			continue;
		lo = p->offset < lo ? p->offset : lo;
		hi = p->offset + (p->hi - p->lo) > hi ? p->offset + (p->hi - p->lo) : hi;
	}
	const uint64_t map[6] = {
		0, hi - lo, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0};

	if (trace_call(t, gadget, "mmap", SYS_mmap, map, &at, e))
		return -1;
	for (size_t i = first; i < a->n; i++) {
		struct alias *p = &a->v[i];

		if (p->inode != a->v[first].inode)
			continue;
		p->own = at + (p->offset - lo);
		if (trace_copy_range(t->pid, p->lo, p->own, p->hi - p->lo, e))
			return -1;
	}
	return 0;
}

static int take_own(struct trace *t, uint64_t gadget, const struct alias *p, struct err *e)
{
	const uint64_t again[6] = {p->own, 0, p->hi - p->lo, MREMAP_MAYMOVE | MREMAP_FIXED, p->lo};
	const uint64_t protect[6] = {p->lo, p->hi - p->lo, (uint64_t)p->prot};
	uint64_t unused;

	return trace_call(t, gadget, "mremap", SYS_mremap, again, &unused, e) ||
			       trace_call(t, gadget, "mprotect", SYS_mprotect, protect, &unused, e)
		       ? -1
		       : 0;
}

int alias_own(struct trace *t, uint64_t gadget, struct err *e)
{
	struct aliases a = {0};
	int r = list_aliases(t->pid, &a, e);
	uint64_t unused;

	for (size_t i = 0; !r && i < a.n; i++)
		if (!a.v[i].own)
			r = own_object(t, gadget, &a, i, e);
	for (size_t i = 0; !r && i < a.n; i++)
		r = take_own(t, gadget, &a.v[i], e);
	for (size_t i = 0; !r && i < a.n; i++) {
		const uint64_t unmap[6] = {a.v[i].own, a.v[i].hi - a.v[i].lo};

		r = trace_call(t, gadget, "munmap", SYS_munmap, unmap, &unused, e);
	}
	free(a.v);
	return r ? err_wrap(e, "copy memory that is mapped more than once") : 0;
}

/* The same bytes of another mapping: those of [lo, hi) that lie in `from`. */
static void add_same(struct trace_words *w, const struct alias *from, const struct alias *to, uint64_t lo, uint64_t hi)
{
	uint64_t at;

	lo = lo > from->lo ? lo : from->lo;
	hi = hi < from->hi ? hi : from->hi;
	if (from == to || from->inode != to->inode || lo >= hi)
		return;
	at = lo - from->lo + from->offset;
	if (at + (hi - lo) <= to->offset || at >= to->offset + (to->hi - to->lo))
		return;
	if (w->n == TRACE_WORDS_MAX)
		w->complete = false;
	else
		w->w[w->n++] = (struct trace_word){to->lo + (at - to->offset), (uint32_t)(hi - lo)};
}

int alias_add_words(pid_t pid, struct trace_words *w, struct err *e)
{
	struct aliases a = {0};
	unsigned n = w->n;
	int r = list_aliases(pid, &a, e);

	for (unsigned i = 0; !r && i < n; i++)
		for (size_t k = 0; k < a.n; k++)
			for (size_t m = 0; m < a.n; m++)
				add_same(w, &a.v[k], &a.v[m], w->w[i].addr, w->w[i].addr + w->w[i].len);
	free(a.v);
	return r;
}
