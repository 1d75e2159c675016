/* SPDX-License-Identifier: MIT */
/* thread_snapshot.c: see thread_snapshot.h. */
#include "visibility/thread_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/maps.h"
#include "base/str.h"
#include "rlog/replay.h"
#include "visibility/regs.h"
#include "visibility/visibility.h"

#define MAGIC 0x544f5053444546ull /* "FEDSPOT" */
#define STACK_MAX (64u << 10)
#define DATA_MAX (8u << 20)

struct head {
	uint64_t magic, n, len, holes;
	int32_t pid, tid;
	uint64_t in_call;
	struct user_regs_struct regs;
};

static void add(struct thread_snapshot *p, uint64_t addr, uint64_t len)
{
	p->region = xreallocarray(p->region, p->n + 1, sizeof(p->region[0]));
	p->region[p->n++] = (struct thread_snapshot_region){addr, len};
	p->len += len;
}

/* Does only the first thread use the mapping? (What other threads have of their own is on their stacks.) */
static bool is_first_threads(const struct thread_snapshot *p, uint64_t first_tls, const struct mapping *m)
{
	return p->tid != p->pid && (mapping_has(m, first_tls) || str_eq(m->path, "[stack]"));
}

static void add_mapping(struct thread_snapshot *p, uint64_t first_tls, const struct mapping *m)
{
	uint64_t sp = p->regs.rsp - TRACE_RED_ZONE;

	/* the other threads stand still; during a call, libc keeps some data there */
	if (mapping_has(m, sp))
		return;
	if (shim_is_stack(m->lo) || is_first_threads(p, first_tls, m))
		return;
	if (p->len + (m->hi - m->lo) <= DATA_MAX)
		add(p, m->lo, m->hi - m->lo);
}

static int find_regions(struct thread_snapshot *p, uint64_t first_tls, struct err *e)
{
	uint64_t sp = p->regs.rsp - TRACE_RED_ZONE, hidden_end = 0;
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, p->pid, e))
		return -1;
	add(p, sp, 0);
	while (maps_next(&maps, &m)) {
		if (mapping_has(&m, sp))
			p->region[0].len = m.hi - sp < STACK_MAX ? m.hi - sp : STACK_MAX;
		/* a library that the recorder replaces functions of; the mapping after its data is its .bss */
		if (visibility_knows(m.path) || shim_owns(m.lo) || (!m.path[0] && m.lo == hidden_end))
			hidden_end = m.hi;
		else if (m.write && !m.shared)
			add_mapping(p, first_tls, &m);
	}
	p->len += p->region[0].len;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct thread_snapshot_region *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* There are none if the program has never waited for a lock, or if the recorder is an older one. */
static void find_ignored(struct thread_snapshot *p)
{
	cleanup_free uint64_t *word = xcalloc(SHIM_HOLES, sizeof(*word));
	size_t got = regs_read_memory(p->pid, SHIM_HOLES_ADDR, word, SHIM_HOLES * sizeof(*word));

	p->ignored = xcalloc(SHIM_HOLES, sizeof(p->ignored[0]));
	for (size_t i = 0; i < got / sizeof(*word); i++)
		if (word[i])
			p->ignored[p->ignored_n++] = (struct thread_snapshot_region){
				word[i] & ((1ull << SHIM_HOLE_BITS) - 1), word[i] >> SHIM_HOLE_BITS};
	qsort(p->ignored, p->ignored_n, sizeof(p->ignored[0]), by_address);
}

/* Is this word a part of such a lock? */
static bool is_ignored(const struct thread_snapshot *p, uint64_t addr)
{
	unsigned lo = 0, hi = p->ignored_n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (p->ignored[mid].addr < addr + 8)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < p->ignored[lo - 1].addr + p->ignored[lo - 1].len;
}

int thread_snapshot_look(struct thread_snapshot *p, struct trace *t, uint64_t first_tls, bool in_call, struct err *e)
{
	uint8_t *at;

	*p = (struct thread_snapshot){.pid = t->pid, .tid = t->tid, .in_call = in_call};
	if (trace_get_regs(t, &p->regs, e) || find_regions(p, first_tls, e))
		return -1;
	find_ignored(p);
	at = p->data = xcalloc(p->len + 1, 1);
	for (unsigned i = 0; i < p->n; i++) {
		regs_read_memory(p->pid, p->region[i].addr, at, p->region[i].len);
		at += p->region[i].len;
	}
	return 0;
}

int thread_snapshot_write(const struct thread_snapshot *p, const char *path, struct err *e)
{
	struct head h = {.magic = MAGIC,
			 .n = p->n,
			 .len = p->len,
			 .holes = p->ignored_n,
			 .pid = p->pid,
			 .tid = p->tid,
			 .in_call = p->in_call,
			 .regs = p->regs};
	cleanup_buf struct buf b = {0};

	buf_add(&b, (const char *)&h, sizeof(h));
	buf_add(&b, (const char *)p->region, p->n * sizeof(p->region[0]));
	buf_add(&b, (const char *)p->ignored, p->ignored_n * sizeof(p->ignored[0]));
	buf_add(&b, (const char *)p->data, p->len);
	return write_file(path, b.data, b.len, 0600, e);
}

int thread_snapshot_read(struct thread_snapshot *p, const char *path, struct err *e)
{
	cleanup_buf struct buf b = {0};
	struct head h;
	size_t regions, ignored, sum = 0;

	*p = (struct thread_snapshot){0};
	if (read_file(path, &b, e))
		return -1;
	if (b.len >= sizeof(h))
		memcpy(&h, b.data, sizeof(h));
	if (b.len < sizeof(h) || h.magic != MAGIC || h.n > b.len / sizeof(p->region[0]) || h.holes > SHIM_HOLES)
		return err_set(e, ERR_USAGE, "%s: no file about a live program", path);
	regions = h.n * sizeof(p->region[0]);
	ignored = h.holes * sizeof(p->ignored[0]);
	if (b.len != sizeof(h) + regions + ignored + h.len)
		return err_set(e, ERR_USAGE, "%s: cut short", path);
	*p = (struct thread_snapshot){.pid = h.pid,
				      .tid = h.tid,
				      .in_call = h.in_call != 0,
				      .regs = h.regs,
				      .n = (unsigned)h.n,
				      .ignored_n = (unsigned)h.holes,
				      .len = h.len};
	p->region = xmalloc(regions + 1);
	p->data = xmalloc(h.len + 1);
	p->ignored = xmalloc(ignored + 1);
	memcpy(p->region, b.data + sizeof(h), regions);
	memcpy(p->ignored, b.data + sizeof(h) + regions, ignored);
	memcpy(p->data, b.data + sizeof(h) + regions + ignored, h.len);
	for (unsigned i = 0; i < p->n; i++)
		sum += p->region[i].len;
	return sum == p->len ? 0 : err_set(e, ERR_USAGE, "%s: damaged", path);
}

void thread_snapshot_fini(struct thread_snapshot *p)
{
	free(p->region);
	free(p->ignored);
	free(p->data);
	*p = (struct thread_snapshot){0};
}

bool thread_snapshot_is_like(const struct thread_snapshot *p, const struct user_regs_struct *r, unsigned *differ)
{
	const struct user_regs_struct *w = &p->regs;

	*differ = (r->rbp != w->rbp) + (r->rbx != w->rbx) + (r->r12 != w->r12) + (r->r13 != w->r13) +
		  (r->r14 != w->r14) + (r->r15 != w->r15);
	return r->rip == w->rip && r->rsp == w->rsp && r->fs_base == w->fs_base;
}

static size_t differing(const struct thread_snapshot *p, uint64_t addr, const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t n = 0;

	for (; len >= 8; a += 8, b += 8, len -= 8, addr += 8)
		n += memcmp(a, b, 8) && !is_ignored(p, addr);
	return n + (len && memcmp(a, b, len));
}

/* Adds the first word of a region that differs in a useful way. */
static void tell_region(const struct thread_snapshot *p, const struct thread_snapshot_region *g, const uint8_t *want,
			pid_t pid, pid_t base, struct walk_tell *tell)
{
	cleanup_free uint8_t *now = xmalloc(g->len + 1), *before = NULL;
	size_t got = regs_read_memory(pid, g->addr, now, g->len), old = 0;

	for (size_t i = 0; i + 8 <= got; i += 8) {
		if (!memcmp(now + i, want + i, 8) || is_ignored(p, g->addr + i))
			continue;
		if (!before) {
			before = xmalloc(g->len + 1);
			old = regs_read_memory(base, g->addr, before, g->len);
		}
		if (i + 8 <= old && !memcmp(now + i, before + i, 8))
			continue;
		tell->v[tell->n].addr = g->addr + i;
		memcpy(&tell->v[tell->n++].value, want + i, 8);
		return;
	}
}

void thread_snapshot_tell(const struct thread_snapshot *p, pid_t pid, pid_t base, struct walk_tell *tell)
{
	const uint8_t *want = p->data;

	for (unsigned i = 0; i < p->n && tell->n < WALK_TELL; want += p->region[i++].len)
		tell_region(p, &p->region[i], want, pid, base, tell);
}

size_t thread_snapshot_differs(const struct thread_snapshot *p, pid_t pid, bool all)
{
	unsigned from = all ? 1 : 0, to = all ? p->n : p->n > 0;
	const uint8_t *want = p->data + (all && p->n ? p->region[0].len : 0);
	size_t words = 0;

	for (unsigned i = from; i < to; i++) {
		size_t len = p->region[i].len, got;
		cleanup_free uint8_t *now = xmalloc(len + 1);

		got = regs_read_memory(pid, p->region[i].addr, now, len);
		words += differing(p, p->region[i].addr, now, want, got) + (len - got) / 8;
		want += len;
	}
	return words;
}
