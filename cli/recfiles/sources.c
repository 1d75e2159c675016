/* SPDX-License-Identifier: MIT */
/*
 * sources.c: see sources.h. A file that cannot be copied is listed with its state, so that a later
 * change is noticed.
 */
#include "recfiles/sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/path.h"
#include "recfiles/line_files.h"
#include "reclog/files.h"
#include "reclog/rec.h"
#include "reclog/sources.h"

#define MAX_FILES 3000u
#define MAX_BYTES (32u << 20)
#define LEVEL 1 /* of zstd */

struct keeping {
	const char *rec;
	double until;
	json_t *list, *seen; /* seen: the files that are in the list or are not wanted, by folder and name */
	/* if set, files that are newer than the program are only listed here; NULL: the files are kept */
	struct strv *newer;
	struct buf copies;
	ZSTD_CCtx *z;
	unsigned long long program_ns; /* when the program that names it was written */
};

/* Appends the file's text to those of the others. */
static void keep(struct keeping *k, const char *path, const struct stat *st, json_t *o)
{
	cleanup_buf struct buf text = {0};
	cleanup_free void *packed = NULL;
	struct err ignored;
	size_t n;

	if (st->st_size > SOURCE_MAX || k->copies.len + (size_t)st->st_size > MAX_BYTES || clock_s() > k->until ||
	    read_file(path, &text, &ignored) || text.len != (size_t)st->st_size)
		return;
	n = ZSTD_compressBound(text.len);
	packed = xmalloc(n);
	n = ZSTD_compressCCtx(k->z, packed, n, buf_str(&text), text.len, LEVEL);
	if (ZSTD_isError(n))
		return;
	json_object_set_new(o, "at", json_integer((json_int_t)k->copies.len));
	json_object_set_new(o, "bytes", json_integer((json_int_t)n));
	buf_add(&k->copies, packed, n);
}

static void add_source(struct keeping *k, const char *dir, const char *name, const char *path)
{
	cleanup_free char *stamp = NULL;
	unsigned long long ns;
	struct stat st;
	json_t *o;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	if (k->newer) {
		if (k->program_ns && (unsigned long long)st.st_mtim.tv_sec > k->program_ns / 1000000000)
			strv_add(k->newer, path);
		return;
	}
	stamp = source_stamp(&st);
	ns = (unsigned long long)st.st_mtim.tv_sec * 1000000000ull + (unsigned long long)st.st_mtim.tv_nsec;
	o = json_pack("{s:s, s:s}", "name", path, "stamp", stamp);
	if (!o) /* its name is not UTF-8 */
		return;
	if (*name != '/')
		json_object_set_new(o, "dir", json_string(dir));
	if (k->program_ns && ns > k->program_ns)
		json_object_set_new(o, "newer", json_true());
	keep(k, path, &st, o);
	json_array_append_new(k->list, o);
}

static void add_name(void *arg, const char *dir, const char *name)
{
	cleanup_free char *key = *name == '/' ? xstrdup(name) : str_fmt("%s/%s", dir, name), *path = NULL;
	struct keeping *k = arg;

	if (*key != '/' || json_object_get(k->seen, key))
		return;
	if (json_object_set_new(k->seen, key, json_true()))
		return;
	path = path_clean(key);
	if (!path_is_system(path) && json_array_size(k->list) < MAX_FILES)
		add_source(k, dir, name, path);
}

static void add_program(struct keeping *k, const struct rec_file *f)
{
	cleanup_free char *path = str_fmt("%s/files/%s", k->rec, f->copy);
	unsigned long long dev, ino, size;

	if (json_object_get(k->seen, f->copy) || str_eq(f->copy, RLOG_SHIM_NAME) ||
	    sscanf(f->copy, "%llx-%llx-%llx-%llx", &dev, &ino, &size, &k->program_ns) != 4)
		return;
	json_object_set_new(k->seen, f->copy, json_true());
	line_files_each(path, k->until, add_name, k);
}

/*
 * Writes the copies into one file, whose name is formed like that of other copies: device and inode 0, its size and its
 * sum.
 */
static char *write_copies(const struct keeping *k)
{
	cleanup_free char *name = str_fmt("0-0-%zx-%x", k->copies.len, crc32c(0, k->copies.data, k->copies.len));
	cleanup_free char *path = str_fmt("%s/files/%s", k->rec, name);
	struct err ignored;

	if (!k->copies.len || write_file(path, k->copies.data, k->copies.len, 0500, &ignored))
		return NULL;
	return steal_ptr(&name);
}

static void look_through(struct keeping *k, const struct rec *rec)
{
	struct err ignored;

	for (unsigned i = 0; i < rec->nimages && clock_s() < k->until; i++) {
		struct rec_files l;

		if (rec_files_read(rec, rec->images[i].ordinal, &l, &ignored))
			continue;
		for (size_t f = 0; f < l.n; f++)
			add_program(k, &l.f[f]);
		rec_files_fini(&l);
	}
}

json_t *sources_keep(const char *dir, double seconds)
{
	struct keeping k = {.rec = dir,
			    .until = clock_s() + seconds,
			    .list = json_array(),
			    .seen = json_object(),
			    .z = ZSTD_createCCtx()};
	cleanup_free char *copies = NULL;
	struct err ignored;
	struct rec *rec;
	json_t *o = NULL;

	if (k.z && !rec_open(dir, &rec, &ignored)) {
		look_through(&k, rec);
		rec_free(rec);
	}
	copies = write_copies(&k);
	if (json_array_size(k.list))
		o = json_pack("{s:s?, s:O}", "copies", copies, "files", k.list);
	ZSTD_freeCCtx(k.z);
	buf_fini(&k.copies);
	json_decref(k.seen);
	json_decref(k.list);
	return o;
}

void sources_newer(const struct rec *rec, double seconds, struct strv *names)
{
	struct keeping k = {.rec = rec->dir, .until = clock_s() + seconds, .seen = json_object(), .newer = names};

	look_through(&k, rec);
	json_decref(k.seen);
}
