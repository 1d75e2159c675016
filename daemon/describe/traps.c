/* SPDX-License-Identifier: MIT */
/* traps.c: see traps.h. */
#include "describe/traps.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "describe/describe.h"
#include "describe/symbol.h"
#include "reclog/files.h"

/* One instruction, in all processes that have it. */
struct caller {
	char *file, *function; /* NULL: not known */
	uint64_t offset, function_offset, calls;
	unsigned number;
};

struct callers {
	struct caller *c;
	size_t n;
	uint64_t calls;
};

static bool find_in(const struct rec *rec, const struct rec_files *l, uint64_t pc, struct caller *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct rec_file *f = &l->f[i];
		cleanup_free char *path = str_fmt("%s/files/%s", rec->dir, f->copy);
		struct symbol_file s;
		bool found = pc >= f->base && symbol_open(&s, path) && symbol_has_code(&s, pc - f->base);

		if (found) {
			out->file = xstrdup(f->real);
			out->offset = pc - f->base;
			out->function = symbol_name(&s, out->offset, &out->function_offset);
		}
		if (pc >= f->base)
			symbol_close(&s);
		if (found)
			return true;
	}
	return false;
}

/* The files of an image, and of those that it was forked from. */
static int locate(const struct rec *rec, uint32_t process, uint64_t pc, struct caller *out, struct err *e)
{
	const struct rec_image *img;
	struct rec_files l;
	bool found;

	out->offset = pc;
	do {
		if (!(img = rec_image(rec, process, e)) || rec_files_read(rec, process, &l, e))
			return -1;
		found = find_in(rec, &l, pc, out);
		rec_files_fini(&l);
		process = img->head.parent; /* smaller: checked by rec_image_read */
	} while (!found && img->head.origin == RLOG_ORIGIN_FORK);
	return 0;
}

static void add(struct callers *all, struct caller *c)
{
	all->calls += c->calls;
	for (size_t i = 0; i < all->n; i++) {
		struct caller *o = &all->c[i];

		if (o->number == c->number && o->offset == c->offset && str_eq(o->file, c->file)) {
			o->calls += c->calls;
			free(c->file);
			free(c->function);
			return;
		}
	}
	all->c = xreallocarray(all->c, all->n + 1, sizeof(*all->c));
	all->c[all->n++] = *c;
}

static int add_image(const struct rec *rec, uint32_t process, struct callers *all, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/p%04u/traps", rec->dir, process);
	cleanup_buf struct buf b = {0};
	struct rlog_traps t;

	if (access(path, F_OK))
		return 0;
	if (read_file(path, &b, e))
		return -1;
	if (b.len < sizeof(t))
		return rec->complete ? err_set(e, ERR_USAGE, "%s: truncated at offset %zu", path, b.len) : 0;
	memcpy(&t, b.data, sizeof(t));
	all->calls += t.others;
	for (size_t i = 0; i < sizeof(t.at) / sizeof(t.at[0]); i++) {
		struct caller c = {.calls = t.at[i].count, .number = (unsigned)(t.at[i].key >> RLOG_TRAP_SHIFT)};

		if (!t.at[i].key)
			continue;
		if (locate(rec, process, t.at[i].key & ((1ull << RLOG_TRAP_SHIFT) - 1), &c, e))
			return -1;
		add(all, &c);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static json_t *text(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *caller_json(const struct caller *c)
{
	return json_pack("{s:I, s:s?, s:i, s:o, s:I, s:o, s:I}", "calls", (json_int_t)c->calls, "name",
			 describe_syscall_name(c->number), "number", (int)c->number, "file", text(c->file), "offset",
			 (json_int_t)c->offset, "function", text(c->function), "function_offset",
			 c->function ? (json_int_t)c->function_offset : (json_int_t)0);
}

json_t *traps_json(const struct rec *rec, struct err *e)
{
	struct callers all = {0};
	json_t *list = json_array();
	int r = 0;

	for (unsigned i = 0; i < rec->nimages && !r; i++)
		r = add_image(rec, rec->images[i].ordinal, &all, e);
	if (all.n)
		qsort(all.c, all.n, sizeof(*all.c), compare);
	for (size_t i = 0; i < all.n; i++) {
		json_array_append_new(list, caller_json(&all.c[i]));
		free(all.c[i].file);
		free(all.c[i].function);
	}
	free(all.c);
	if (!r)
		return json_pack("{s:I, s:o}", "calls", (json_int_t)all.calls, "callers", list);
	json_decref(list);
	return NULL;
}
