/* SPDX-License-Identifier: MIT */
/*
 * criu_pages.c: see criu_pages.h. A file of addresses has two magic numbers, then messages of Protocol Buffers, each
 * after its length (32 bits): one head, then one for each run, all of whose fields are numbers.
 */
#include "cut/criu_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"

#define MAGICS 8u
#define PRESENT 4u /* the contents are in the file of pages */
#define IN_PARENT 1u
#define MESSAGE_MAX 64u

enum field { ADDR = 1, PAGES = 2, PARENT = 3, FLAGS = 4, WIDE_PAGES = 5 };

/* ---- messages ---- */

static bool get_number(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t b = *(*p)++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static void put_number(struct buf *b, uint64_t v)
{
	uint8_t byte;

	for (; v > 0x7f; v >>= 7) {
		byte = (uint8_t)(v | 0x80);
		buf_add(b, &byte, 1);
	}
	byte = (uint8_t)v;
	buf_add(b, &byte, 1);
}

static void put_field(struct buf *b, enum field f, uint64_t v)
{
	put_number(b, (uint64_t)f << 3);
	put_number(b, v);
}

static bool get_run(const uint8_t *p, const uint8_t *end, struct criu_run *r)
{
	uint64_t key, v;

	*r = (struct criu_run){.flags = PRESENT};
	while (p < end) {
		if (!get_number(&p, end, &key) || !get_number(&p, end, &v))
			return false;
		switch (key) {
		case ADDR << 3:
			r->addr = v;
			break;
		case PAGES << 3:
			if (v)
				r->pages = v;
			break;
		case FLAGS << 3:
			r->flags = v;
			break;
		case WIDE_PAGES << 3:
			r->pages = v;
			r->wide = true;
			break;
		default:
			return false; /* an incremental dump, or a newer format */
		}
	}
	return r->pages && r->addr % CRIU_PAGE == 0 && (r->flags & PRESENT) && !(r->flags & IN_PARENT);
}

static void put_run(struct buf *out, const struct criu_run *r)
{
	cleanup_buf struct buf b = {0};
	uint32_t len;

	put_field(&b, ADDR, r->addr);
	put_field(&b, PAGES, r->wide ? 0 : r->pages);
	put_field(&b, FLAGS, r->flags);
	if (r->wide)
		put_field(&b, WIDE_PAGES, r->pages);
	len = (uint32_t)b.len;
	buf_add(out, &len, sizeof(len));
	buf_add(out, b.data, b.len);
}

/* ---- reading ---- */

/* The only file "pagemap-DIGITS.img". */
static char *find_map(const char *dir, struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	cleanup_free char *found = NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		const char *s = de->d_name;

		if (!str_starts(s, "pagemap-") || !str_eq(s + 8 + strspn(s + 8, "0123456789"), ".img"))
			continue;
		if (found) {
			err_set(e, ERR_INTERNAL, "%s has several processes", dir);
			return NULL;
		}
		found = path_join(dir, s);
	}
	if (!found)
		err_set(e, ERR_INTERNAL, "%s: no pagemap-PID.img", dir);
	return steal_ptr(&found);
}

static bool parse(struct criu_pages *p, const struct buf *b, uint64_t *pages_id)
{
	const uint8_t *at = (const uint8_t *)b->data + MAGICS, *end = (const uint8_t *)b->data + b->len, *q;
	uint64_t key;
	uint32_t len;

	for (bool head = true; at < end; head = false, at += len) {
		if (end - at < (ptrdiff_t)sizeof(len))
			return false;
		memcpy(&len, at, sizeof(len));
		at += sizeof(len);
		if (len > MESSAGE_MAX || len > (size_t)(end - at))
			return false;
		if (!head) {
			p->runs = xreallocarray(p->runs, p->n + 1, sizeof(*p->runs));
			if (!get_run(at, at + len, &p->runs[p->n++]))
				return false;
			continue;
		}
		q = at;
		p->head_len = MAGICS + sizeof(len) + len;
		if (p->head_len > sizeof(p->head) || !get_number(&q, at + len, &key) ||
		    !get_number(&q, at + len, pages_id))
			return false;
		memcpy(p->head, b->data, p->head_len);
	}
	return p->head_len != 0;
}

int criu_pages_read(struct criu_pages *p, const char *dir, struct err *e)
{
	cleanup_buf struct buf b = {0};
	uint64_t id = 0;

	*p = (struct criu_pages){.map = find_map(dir, e)};
	if (!p->map || read_file(p->map, &b, e))
		return -1;
	if (b.len < MAGICS || !parse(p, &b, &id))
		return err_set(e, ERR_INTERNAL, "%s: the format is not known", p->map);
	p->data = str_fmt("%s/pages-%llu.img", dir, (unsigned long long)id);
	return 0;
}

void criu_pages_fini(struct criu_pages *p)
{
	free(p->map);
	free(p->data);
	free(p->runs);
	*p = (struct criu_pages){0};
}

/* ---- taking out ---- */

struct pruning {
	int from, to;
	struct buf map;
	uint64_t kept, all;
};

static int copy_pages(struct pruning *w, const struct criu_run *r, uint64_t first, struct err *e)
{
	uint8_t page[CRIU_PAGE];

	for (uint64_t k = 0; k < r->pages; k++)
		if (pread_full(w->from, page, sizeof(page), (off_t)((first + k) * CRIU_PAGE)) != sizeof(page) ||
		    write_full(w->to, page, sizeof(page)))
			return err_errno(e, ERR_HOST, "copying pages of a checkpoint");
	w->kept += r->pages;
	put_run(&w->map, r);
	return 0;
}

/* Writes the parts of a run that are kept. */
static int prune_run(struct pruning *w, const struct criu_run *r, bool (*keep)(const void *ctx, uint64_t addr),
		     const void *ctx, struct err *e)
{
	struct criu_run part = *r;

	for (uint64_t k = 0, first = 0; k <= r->pages; k++) {
		if (k < r->pages && keep(ctx, r->addr + k * CRIU_PAGE))
			continue;
		part.addr = r->addr + first * CRIU_PAGE;
		part.pages = k - first;
		if (part.pages && copy_pages(w, &part, w->all + first, e))
			return -1;
		first = k + 1;
	}
	w->all += r->pages;
	return 0;
}

int criu_pages_prune(const struct criu_pages *p, bool (*keep)(const void *ctx, uint64_t addr), const void *ctx,
		     uint64_t *kept, uint64_t *all, struct err *e)
{
	cleanup_free char *fresh = str_fmt("%s.new", p->data);
	cleanup_close int from = open(p->data, O_RDONLY | O_CLOEXEC),
			  to = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct pruning w = {.from = from, .to = to};
	int r = 0;

	if (from < 0 || to < 0)
		return err_errno(e, ERR_HOST, "%s", from < 0 ? p->data : fresh);
	buf_add(&w.map, p->head, p->head_len);
	for (size_t k = 0; k < p->n && !r; k++)
		r = prune_run(&w, &p->runs[k], keep, ctx, e);
	if (!r && rename(fresh, p->data))
		r = err_errno(e, ERR_HOST, "%s", p->data);
	if (!r)
		r = write_file(p->map, w.map.data, w.map.len, 0600, e);
	*kept = w.kept;
	*all = w.all;
	buf_fini(&w.map);
	return r;
}
