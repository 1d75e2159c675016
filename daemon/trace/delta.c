/* SPDX-License-Identifier: MIT */
/* delta.c: see delta.h. */
#include "trace/delta.h"
#include "base/cleanup.h"
#include "base/maps.h"
#include "trace/internal.h"
#include "trace/pagemap.h"
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
#define PAGES 512u /* looked at in one go */
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define FRAME ((1ull << 55) - 1)
#define IOVS 1024

struct pair {
	pid_t left, right;
	int left_map, right_map; /* pagemaps */
	size_t max;
	struct delta *d;
};

void delta_fini(struct delta *d)
{
	free(d->addr);
	free(d->left);
	free(d->right);
	memset(d, 0, sizeof(*d));
}

static int grow(struct delta *d, struct err *e)
{
	size_t cap = d->cap ? 2 * d->cap : 1024;
	uint64_t **v[] = {&d->addr, &d->left, &d->right};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t *p = reallocarray(*v[i], cap, sizeof(*p));

		if (!p)
			return err_set(e, ERR_HOST, "out of memory for %zu words", cap);
		*v[i] = p;
	}
	d->cap = cap;
	return 0;
}

static int add(struct delta *d, uint64_t addr, uint64_t left, uint64_t right, struct err *e)
{
	if (d->n == d->cap && grow(d, e))
		return -1;
	d->addr[d->n] = addr;
	d->left[d->n] = left;
	d->right[d->n++] = right;
	return 0;
}

static bool fetch(pid_t pid, uint64_t addr, void *page)
{
	struct iovec l = {page, PAGE}, r = {(void *)(uintptr_t)addr, PAGE};

	return process_vm_readv(pid, &l, 1, &r, 1, 0) == PAGE;
}

/* A page that one of the two does not have cannot be compared, nor needs to be. */
static int compare_page(struct pair *p, uint64_t addr, struct err *e)
{
	uint64_t left[PAGE / 8], right[PAGE / 8];

	if (!fetch(p->left, addr, left) || !fetch(p->right, addr, right) || !memcmp(left, right, PAGE))
		return 0;
	for (unsigned i = 0; i < PAGE / 8; i++) {
		if (left[i] == right[i])
			continue;
		if (p->d->n == p->max)
			return 1;
		if (add(p->d, addr + 8 * i, left[i], right[i], e))
			return -1;
	}
	return 0;
}

/* May the page differ, by its pagemap entries? (Documentation/admin-guide/mm/pagemap.rst) */
static bool may_differ(uint64_t a, uint64_t b)
{
	if (!((a | b) & (PRESENT | SWAPPED)))
		return false; /* untouched in both */
	return (a & b & SWAPPED) || (a ^ b) & (PRESENT | SWAPPED) || !(a & FRAME) || (a & FRAME) != (b & FRAME);
}

/* The first page at or after `at` that one of the two has, as far as that is known. */
static uint64_t next_used(const struct pair *p, uint64_t at, uint64_t to)
{
	uint64_t left = at < to ? pagemap_next_used(p->left_map, at, to) : to, right;

	if (left == at || at >= to)
		return left;
	right = pagemap_next_used(p->right_map, at, left);
	return right < left ? right : left;
}

static int compare_range(struct pair *p, uint64_t from, uint64_t to, struct err *e)
{
	uint64_t a[PAGES], b[PAGES];

	for (uint64_t at = from, n; at < to; at += n * PAGE) {
		bool used = false;
		ssize_t want;

		n = (to - at) / PAGE < PAGES ? (to - at) / PAGE : PAGES;
		want = (ssize_t)(n * 8);

		if (pread(p->left_map, a, (size_t)want, (off_t)(at / PAGE * 8)) != want ||
		    pread(p->right_map, b, (size_t)want, (off_t)(at / PAGE * 8)) != want)
			return err_errno(e, ERR_HOST, "read /proc/%d/pagemap", (int)p->left);
		for (uint64_t i = 0; i < n; i++) {
			int r = may_differ(a[i], b[i]) ? compare_page(p, at + i * PAGE, e) : 0;

			used |= ((a[i] | b[i]) & (PRESENT | SWAPPED)) != 0;
			if (r)
				return r;
		}
		if (!used)
			at = next_used(p, at + n * PAGE, to) - n * PAGE;
	}
	return 0;
}

static int open_pagemap(pid_t pid, int *fd, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? err_errno(e, ERR_HOST, "open %s", path) : 0;
}

static int compare_all(struct pair *p, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	int r = 0;

	if (maps_open(&maps, p->right, e))
		return -1;
	while (!r && maps_next(&maps, &m))
		if (m.write)
			r = compare_range(p, m.lo, m.hi, e);
	return r;
}

int delta_diff(pid_t left, pid_t right, size_t max, struct delta *d, struct err *e)
{
	cleanup_close int a = -1, b = -1;
	struct pair p = {.left = left, .right = right, .max = max, .d = d};
	int r;

	memset(d, 0, sizeof(*d));
	if (open_pagemap(left, &a, e) || open_pagemap(right, &b, e))
		return -1;
	p.left_map = a;
	p.right_map = b;
	r = compare_all(&p, e);
	if (r)
		delta_fini(d);
	return r;
}

/* The words from *i on that one call can write: at most IOVS runs of neighbours. */
static unsigned gather(const struct delta *d, size_t *i, size_t to, struct iovec remote[IOVS])
{
	unsigned n = 0;

	for (; *i < to; ++*i) {
		uint64_t addr = d->addr[*i];
		struct iovec *last = n ? &remote[n - 1] : NULL;

		if (last && (uint64_t)(uintptr_t)last->iov_base + last->iov_len == addr) {
			last->iov_len += 8;
			continue;
		}
		if (n == IOVS)
			break;
		remote[n++] = (struct iovec){(void *)(uintptr_t)addr, 8};
	}
	return n;
}

int delta_apply(pid_t pid, const struct delta *d, size_t from, size_t to, const uint64_t *contents, struct err *e)
{
	struct iovec remote[IOVS];

	while (from < to) {
		size_t begin = from;
		unsigned n = gather(d, &from, to, remote);
		struct iovec local = {(void *)(contents + begin), (from - begin) * 8};

		if (process_vm_writev(pid, &local, 1, remote, n, 0) != (ssize_t)local.iov_len)
			return err_errno(e, trace_why_failed(), "write %zu words of process %d", from - begin,
					 (int)pid);
	}
	return 0;
}
