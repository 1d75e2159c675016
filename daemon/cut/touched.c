/* SPDX-License-Identifier: MIT */
/* touched.c: see touched.h. */
#include "cut/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"
#include "replay/segment.h"
#include "trace/trace.h"

#define PAGE CRIU_PAGE
#define FILE_NAME "memory.tmp"
#define PATH_ROOM 256u
#define IN_MEMORY (3ull << 62) /* of an entry in /proc/PID/pagemap: present, or swapped */

struct span {
	uint64_t lo, hi;
};

struct file_span {
	uint64_t lo, hi, offset, inode;
};

struct maps_copy {
	struct file_span *v;
	size_t n;
};

/* ---- what is watched ---- */

static void add_span(struct maps_copy *l, uint64_t lo, uint64_t hi, uint64_t offset, uint64_t inode)
{
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct file_span){lo, hi, offset, inode};
}

/* A call of mmap that has mapped a file. */
static void see_mmap(struct touched *x, const struct timeline_event *ev)
{
	const struct rlog_rec *r = &ev->ev.rec;

	if (r->op[0] == SYS_mmap && r->nops > 4 && !(r->op[4] & MAP_ANONYMOUS) && ev->ev.has_result &&
	    (int64_t)ev->ev.result.op[0] > 0)
		add_span(x->mapped, ev->ev.result.op[0], ev->ev.result.op[0] + r->op[2], 0, 0);
}

/* Finds memory that the window unmaps, moves or extends: there, a mapped file would not behave as the memory does. */
static int find_changed(struct touched *x, struct target *t, uint64_t from, uint64_t to, struct span **out, size_t *n,
			struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int got = 0;

	*out = NULL;
	*n = 0;
	if (from >= to)
		return 0;
	if (timeline_walk_init(&w, t->tl, from + 1, e))
		return -1;
	while (w.number <= to && (got = timeline_walk_next(&w, &ev, e)) == 1) {
		const struct rlog_rec *r = &ev.ev.rec;

		if (r->kind == RLOG_SYS)
			see_mmap(x, &ev);
		if (r->kind != RLOG_SYS || r->nops < 3 || (r->op[0] != SYS_madvise && r->op[0] != SYS_mremap))
			continue;
		*out = xreallocarray(*out, *n + 1, sizeof(**out));
		(*out)[(*n)++] = (struct span){r->op[1], r->op[1] + r->op[2] + 1};
	}
	timeline_walk_fini(&w);
	return got < 0 ? -1 : 0;
}

static bool is_plain(const struct mapping *m)
{
	return !m->shared && !m->inode && !m->exec && (m->read || m->write) &&
	       (!m->path[0] || str_starts(m->path, "[anon:"));
}

/* The part of a mapping for which the image has pages. false: none. */
static bool populated(const struct criu_pages *p, const struct mapping *m, struct span *s)
{
	*s = (struct span){0};
	for (size_t k = 0; k < p->n; k++) {
		uint64_t lo = p->runs[k].addr, hi = lo + p->runs[k].pages * PAGE;

		lo = lo > m->lo ? lo : m->lo;
		hi = hi < m->hi ? hi : m->hi;
		if (lo >= hi)
			continue;
		if (!s->hi)
			s->lo = lo;
		s->hi = hi;
	}
	return s->hi != 0;
}

static bool overlaps(const struct span *v, size_t n, const struct span *s)
{
	for (size_t k = 0; k < n; k++)
		if (v[k].lo < s->hi && s->lo < v[k].hi)
			return true;
	return false;
}

static int find_ranges(struct touched *x, struct target *t, const struct criu_pages *pages, const struct span *changed,
		       size_t nchanged, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	uint64_t offset = 0;
	struct mapping m;
	struct span s;

	if (maps_open(&maps, t->pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		if (m.inode && !m.shared)
			add_span(x->before, m.lo, m.hi, m.offset, m.inode);
		if (!is_plain(&m) || !populated(pages, &m, &s) || overlaps(changed, nchanged, &s))
			continue;
		x->ranges = xreallocarray(x->ranges, x->n + 1, sizeof(*x->ranges));
		x->ranges[x->n++] = (struct touched_range){
			.lo = s.lo,
			.hi = s.hi,
			.offset = offset,
			.pages = xcalloc((s.hi - s.lo) / PAGE / 64 + 1, sizeof(uint64_t)),
			.prot = (m.read ? PROT_READ : 0) | (m.write ? PROT_WRITE : 0),
		};
		offset += s.hi - s.lo;
	}
	return 0;
}

/* ---- mapping a file in place of the memory ---- */

static int write_range(const struct touched_range *r, const struct criu_pages *p, pid_t pid, int fd, struct err *e)
{
	uint8_t page[PAGE];

	for (size_t k = 0; k < p->n; k++)
		for (uint64_t a = p->runs[k].addr, end = a + p->runs[k].pages * PAGE; a < end; a += PAGE) {
			if (a < r->lo || a >= r->hi)
				continue;
			if (trace_read(pid, a, page, sizeof(page), e))
				return -1;
			if (pwrite_full(fd, page, sizeof(page), (off_t)(r->offset + a - r->lo)))
				return err_errno(e, ERR_HOST, "writing memory into a file");
		}
	return 0;
}

static int write_memory(const struct touched *x, const struct criu_pages *p, pid_t pid, int fd, struct err *e)
{
	uint64_t size = x->n ? x->ranges[x->n - 1].offset + x->ranges[x->n - 1].hi - x->ranges[x->n - 1].lo : 0;

	if (ftruncate(fd, (off_t)size))
		return err_errno(e, ERR_HOST, "%s", x->path);
	for (size_t k = 0; k < x->n; k++)
		if (write_range(&x->ranges[k], p, pid, fd, e))
			return -1;
	/* a fault also maps the pages around it, if they are in the page cache */
	if (fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return err_errno(e, ERR_HOST, "%s", x->path);
	return 0;
}

static int call(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6], int64_t *ret, const char *what,
		struct err *e)
{
	if (trace_syscall(t, gadget, nr, a, ret, e))
		return -1;
	if (*ret >= 0 || *ret < -4095)
		return 0;
	errno = (int)-*ret;
	return err_errno(e, ERR_INTERNAL, "%s in process %d", what, (int)t->pid);
}

/* Opens a file in the thread's process. The path is on its stack meanwhile, below what the thread uses. */
static int open_inside(struct trace *t, uint64_t gadget, const char *path, int64_t *fd, struct err *e)
{
	char was[PATH_ROOM], now[PATH_ROOM] = "";
	struct user_regs_struct r;
	uint64_t at;
	int failed;

	if (strlen(path) >= sizeof(now) || trace_get_regs(t, &r, e))
		return err_set(e, ERR_INTERNAL, "%s: the path is too long", path);
	strcpy(now, path);
	at = (r.rsp - TRACE_RED_ZONE - sizeof(now)) & ~15ull;
	if (trace_read(t->pid, at, was, sizeof(was), e) || trace_write(t->pid, at, now, sizeof(now), e))
		return -1;
	failed = call(t, gadget, SYS_openat, (const uint64_t[6]){(uint64_t)AT_FDCWD, at, O_RDONLY | O_CLOEXEC}, fd,
		      "opening the file of memory", e);
	if (trace_write(t->pid, at, was, sizeof(was), failed ? &(struct err){0} : e))
		return -1;
	return failed;
}

static int map_all(struct touched *x, struct trace *t, uint64_t gadget, int64_t fd, struct err *e)
{
	for (size_t k = 0; k < x->n; k++) {
		const struct touched_range *r = &x->ranges[k];
		int64_t ret;

		if (call(t, gadget, SYS_mmap,
			 (const uint64_t[6]){r->lo, r->hi - r->lo, (uint64_t)r->prot, MAP_PRIVATE | MAP_FIXED,
					     (uint64_t)fd, r->offset},
			 &ret, "mmap", e) ||
		    call(t, gadget, SYS_madvise, (const uint64_t[6]){r->lo, r->hi - r->lo, MADV_RANDOM}, &ret,
			 "madvise", e))
			return -1;
	}
	return 0;
}

static int replace_held(struct touched *x, struct trace *held, const struct criu_pages *pages, const char *inside,
			int fd, struct err *e)
{
	int64_t theirs, ret;
	uint64_t gadget;

	if (segment_find_gadget(held->pid, &gadget, e) || open_inside(held, gadget, inside, &theirs, e))
		return -1;
	if (write_memory(x, pages, held->pid, fd, e) || map_all(x, held, gadget, theirs, e))
		return -1;
	return call(held, gadget, SYS_close, (const uint64_t[6]){(uint64_t)theirs}, &ret, "close", e);
}

static int replace(struct touched *x, struct target *t, const struct criu_pages *pages, const char *inside, int fd,
		   struct err *e)
{
	pid_t tid = t->ctl->tid[t->ctl->parked];
	struct trace held;
	struct err why;
	int r;

	if (trace_prepare(true, e) || trace_seize(&held, t->pid, tid ? tid : t->pid, e))
		return -1;
	r = replace_held(x, &held, pages, inside, fd, e);
	if (trace_detach(&held, false, r ? &why : e))
		r = -1;
	return segment_end_tracing(r ? &why : e) ? -1 : r;
}

int touched_begin(struct touched *x, struct target *t, const struct criu_pages *pages, const char *dir,
		  const char *inside, uint64_t from, uint64_t to, struct err *e)
{
	cleanup_free char *theirs = path_join(inside, FILE_NAME);
	cleanup_free struct span *changed = NULL;
	cleanup_close int fd = -1;
	struct stat st, owner;
	size_t n;

	*x = (struct touched){.path = path_join(dir, FILE_NAME),
			      .before = xcalloc(1, sizeof(*x->before)),
			      .mapped = xcalloc(1, sizeof(*x->mapped))};
	fd = open(x->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) || stat(dir, &owner) ||
	    (owner.st_uid != st.st_uid && fchown(fd, owner.st_uid, (gid_t)-1)))
		return err_errno(e, ERR_HOST, "%s", x->path);
	x->inode = st.st_ino;
	if (find_changed(x, t, from, to, &changed, &n, e) || find_ranges(x, t, pages, changed, n, e))
		return -1;
	return replace(x, t, pages, theirs, fd, e);
}

/* ---- what was touched ---- */

static void set(uint64_t *bits, uint64_t k)
{
	bits[k / 64] |= 1ull << k % 64;
}

static bool is_set(const uint64_t *bits, uint64_t k)
{
	return bits[k / 64] >> k % 64 & 1;
}

static struct touched_range *range_at(const struct touched *x, uint64_t addr)
{
	for (size_t k = 0; k < x->n; k++)
		if (addr >= x->ranges[k].lo && addr < x->ranges[k].hi)
			return &x->ranges[k];
	return NULL;
}

static struct touched_file *file_at(struct touched *x, uint64_t inode)
{
	for (size_t k = 0; k < x->nfiles; k++)
		if (x->files[k].inode == inode)
			return &x->files[k];
	x->files = xreallocarray(x->files, x->nfiles + 1, sizeof(*x->files));
	x->files[x->nfiles] = (struct touched_file){.inode = inode};
	return &x->files[x->nfiles++];
}

static void need_page(struct touched_file *f, uint64_t page)
{
	if (page >= f->npages) {
		uint64_t n = (page / 64 + 1) * 64 * 2;

		f->pages = xreallocarray(f->pages, n / 64, sizeof(uint64_t));
		memset(f->pages + f->npages / 64, 0, (n - f->npages) / 8);
		f->npages = n;
	}
	set(f->pages, page);
}

static int see_mapping(struct touched *x, const struct mapping *m, int pagemap, uint64_t *needed, struct err *e)
{
	uint64_t n = (m->hi - m->lo) / PAGE;
	cleanup_free uint64_t *v = xcalloc(n + 1, sizeof(*v));
	ssize_t got = pread_full(pagemap, v, n * sizeof(*v), (off_t)(m->lo / PAGE * sizeof(*v)));
	struct touched_file *f = m->inode == x->inode ? NULL : file_at(x, m->inode);

	if (got != (ssize_t)(n * sizeof(*v)))
		return err_errno(e, ERR_INTERNAL, "pagemap");
	for (uint64_t k = 0; k < n; k++) {
		uint64_t addr = m->lo + k * PAGE;
		struct touched_range *r = range_at(x, addr);
		bool there = (v[k] & IN_MEMORY) != 0;

		if (f && there)
			need_page(f, m->offset / PAGE + k);
		/* not touched, and still mapped there */
		if (!f && !there && r && m->offset + k * PAGE == r->offset + (addr - r->lo))
			set(needed, (r->offset + addr - r->lo) / PAGE);
	}
	return 0;
}

/* Is the whole file span still mapped? */
static bool is_mapped(const struct target *t, const struct file_span *s)
{
	uint64_t at = s->lo;
	struct mapping m;

	while (at < s->hi && maps_find(t->pid, at, &m) && m.inode == s->inode &&
	       m.offset + (at - m.lo) == s->offset + (at - s->lo))
		at = m.hi;
	return at >= s->hi;
}

static bool is_of_files(const struct target *t, const struct file_span *s)
{
	uint64_t at = s->lo;
	struct mapping m;

	while (at < s->hi && maps_find(t->pid, at, &m) && m.inode)
		at = m.hi;
	return at >= s->hi;
}

static void see_unmapped(struct touched *x, const struct target *t)
{
	for (size_t k = 0; k < x->before->n; k++)
		if (!is_mapped(t, &x->before->v[k]))
			file_at(x, x->before->v[k].inode)->whole = true;
	for (size_t k = 0; k < x->mapped->n; k++)
		x->lost |= !is_of_files(t, &x->mapped->v[k]);
}

static bool was_mapped(const struct touched *x, uint64_t inode)
{
	for (size_t k = 0; k < x->before->n; k++)
		if (x->before->v[k].inode == inode)
			return true;
	return false;
}

int touched_end(struct touched *x, struct target *t, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/pagemap", (int)maps_owner(t->pid));
	cleanup_close int pagemap = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t last = x->n ? x->ranges[x->n - 1].offset + x->ranges[x->n - 1].hi - x->ranges[x->n - 1].lo : 0;
	cleanup_free uint64_t *spare = xcalloc(last / PAGE / 64 + 1, sizeof(uint64_t));
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (pagemap < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (maps_open(&maps, t->pid, e))
		return -1;
	while (maps_next(&maps, &m))
		if (m.inode && !m.shared && see_mapping(x, &m, pagemap, spare, e))
			return -1;
	see_unmapped(x, t);
	for (size_t k = 0; k < x->n; k++) {
		struct touched_range *r = &x->ranges[k];

		for (uint64_t p = 0; p < (r->hi - r->lo) / PAGE; p++)
			if (!is_set(spare, r->offset / PAGE + p))
				set(r->pages, p);
	}
	return 0;
}

bool touched_keeps(const void *touched, uint64_t addr)
{
	const struct touched_range *r = range_at(touched, addr);

	return !r || is_set(r->pages, (addr - r->lo) / PAGE);
}

bool touched_needs_file(const struct touched *x, uint64_t inode, uint64_t page)
{
	if (x->lost && !was_mapped(x, inode))
		return true;
	for (size_t k = 0; k < x->nfiles; k++) {
		const struct touched_file *f = &x->files[k];

		if (f->inode == inode)
			return f->whole || (page < f->npages && is_set(f->pages, page));
	}
	return false;
}

static void maps_copy_free(struct maps_copy *l)
{
	if (l)
		free(l->v);
	free(l);
}

void touched_fini(struct touched *x)
{
	for (size_t k = 0; k < x->n; k++)
		free(x->ranges[k].pages);
	for (size_t k = 0; k < x->nfiles; k++)
		free(x->files[k].pages);
	free(x->ranges);
	free(x->files);
	maps_copy_free(x->before);
	maps_copy_free(x->mapped);
	if (x->path)
		unlink(x->path);
	free(x->path);
	*x = (struct touched){0};
}
