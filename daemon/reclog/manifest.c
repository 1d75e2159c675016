/* SPDX-License-Identifier: MIT */
/*
 * manifest.c: the list of a recording's files with size and CRC32C: made when a recording ends,
 * checked before it is used. See rec.h.
 *
 * REC/.verified saves computing the sums of a large recording again: its only line is a CRC32C over the manifest and
 * each file's size, inode and mtime, so that it becomes invalid as soon as one of them changes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/rec.h"

#define CACHE_FROM_BYTES (64ull << 20)

struct entry {
	const char *path; /* relative to the recording */
	uint64_t size;
	uint32_t crc;
};

static int entry_get(const json_t *v, struct entry *en, struct err *e)
{
	const char *hex;
	uint64_t crc;

	if (json_get_str(v, "path", &en->path, e) || json_get_u64(v, "size", &en->size, e))
		return -1;
	if (json_is_string(json_object_get(v, "crc32c"))) {
		if (json_get_str(v, "crc32c", &hex, e))
			return -1;
		if (str_u64(hex, 16, 0, UINT32_MAX, &crc))
			return err_set(e, ERR_USAGE, "crc32c: not a hexadecimal number: %s", hex);
	} else if (json_get_u64(v, "crc32c", &crc, e)) {
		return -1;
	}
	if (crc > UINT32_MAX)
		return err_set(e, ERR_USAGE, "crc32c: out of range");
	if (!*en->path || *en->path == '/' || strstr(en->path, ".."))
		return err_set(e, ERR_USAGE, "path leaves the recording: %s", en->path);
	en->crc = (uint32_t)crc;
	return 0;
}

/* If the file is a log, says at which offset the first invalid record is. */
static void where_damaged(const char *path, char *out, size_t len)
{
	struct err why = {0};
	struct reader log;
	struct rlog_rec rec;
	struct reader_iter it;
	enum rlog_read got;

	out[0] = 0;
	if (!str_ends(path, ".log") || reader_open(&log, path, &why))
		return;
	it = reader_begin(&log);
	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK)
		;
	if (got == RLOG_READ_BAD || it.p < log.base + log.size)
		snprintf(out, len, "; its records are readable up to offset %lu", (unsigned long)(it.p - log.base));
	reader_fini(&log);
}

static int entry_check_crc(const struct entry *en, const char *path, struct err *e)
{
	char where[80];
	uint64_t size;
	uint32_t crc;

	if (crc32c_file(path, &crc, &size, e))
		return -1;
	if (crc == en->crc && size == en->size)
		return 0;
	where_damaged(path, where, sizeof(where));
	return err_set(e, ERR_USAGE,
		       "%s: damaged: its CRC32C is %08x, it was recorded as %08x%s. Take the file from a "
		       "copy of the recording, or record again",
		       path, crc, en->crc, where);
}

static int entry_check_size(const struct entry *en, const char *path, struct stat *st, struct err *e)
{
	if (stat(path, st))
		return err_errno(e, ERR_USAGE, "%s: a file of the recording is missing", path);
	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_USAGE, "%s: damaged: not a regular file", path);
	if ((uint64_t)st->st_size < en->size)
		return err_set(e, ERR_USAGE,
			       "%s: truncated at offset %ld: it was recorded with %lu bytes. Take "
			       "the file "
			       "from a copy of the recording, or record again",
			       path, (long)st->st_size, (unsigned long)en->size);
	if ((uint64_t)st->st_size > en->size)
		return err_set(e, ERR_USAGE,
			       "%s: damaged at offset %lu: it was recorded with %lu bytes and has "
			       "%ld. Take "
			       "the file from a copy of the recording, or record again",
			       path, (unsigned long)en->size, (unsigned long)en->size, (long)st->st_size);
	return 0;
}

static uint32_t mix(uint32_t key, uint64_t v)
{
	return crc32c(key, &v, sizeof(v));
}

static bool cache_matches(const char *path, const char *line)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return !read_file(path, &b, &ignored) && str_eq(buf_str(&b), line);
}

/* The first pass: all files exist with their sizes; key: the checksum for REC/.verified. */
static int check_sizes(const struct rec *r, const json_t *list, uint64_t *bytes, uint32_t *key, struct err *e)
{
	struct entry en;
	struct stat st;
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		cleanup_free char *path = NULL;

		if (entry_get(v, &en, e))
			return err_wrap(e, "%s/meta.json: manifest[%zu]", r->dir, i);
		path = str_fmt("%s/%s", r->dir, en.path);
		if (entry_check_size(&en, path, &st, e))
			return -1;
		*bytes += en.size;
		*key = crc32c(*key, en.path, strlen(en.path));
		*key = mix(mix(mix(*key, en.size), en.crc), st.st_ino);
		*key = mix(mix(*key, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
	}
	return 0;
}

/*
 * Each image and each thread's log must be in the manifest: otherwise a damaged manifest hides
 * them.
 */
static int check_listed(const struct rec *r, const json_t *list, struct err *e)
{
	json_auto_t *names = json_object();
	const char *path;
	json_t *v;
	size_t k;

	json_array_foreach(list, k, v)
	{
		if ((path = json_string_value(json_object_get(v, "path"))))
			json_object_set_new(names, path, json_true());
	}
	for (unsigned i = 0; i < r->nimages; i++) {
		const struct rec_image *img = &r->images[i];

		for (unsigned t = 0; t < img->nthreads; t++) {
			cleanup_free char *full = rec_log_path(r, img->ordinal, img->threads[t]);
			const char *name = full + strlen(r->dir) + 1;

			if (!json_object_get(names, name))
				return err_set(e, ERR_USAGE, "%s/meta.json: damaged: the manifest lacks %s", r->dir,
					       name);
		}
	}
	return 0;
}

int rec_verify_manifest(const struct rec *r, struct err *e)
{
	cleanup_free char *cache = str_fmt("%s/.verified", r->dir), *line = NULL;
	const json_t *list = json_object_get(r->meta, "manifest");
	struct err ignored;
	struct entry en;
	uint64_t bytes = 0;
	uint32_t key = 0;
	json_t *v;
	size_t i;

	if (!r->complete || !list)
		return 0;
	if (check_sizes(r, list, &bytes, &key, e) || check_listed(r, list, e))
		return err_wrap(e, "damaged recording");
	line = str_fmt("%08x\n", key);
	if (bytes >= CACHE_FROM_BYTES && cache_matches(cache, line))
		return 0;
	json_array_foreach(list, i, v)
	{
		cleanup_free char *path = NULL;

		if (entry_get(v, &en, e))
			return -1;
		path = str_fmt("%s/%s", r->dir, en.path);
		if (entry_check_crc(&en, path, e))
			return err_wrap(e, "damaged recording");
	}
	/* if it cannot be written (a read-only folder), the sums are computed each time */
	if (bytes >= CACHE_FROM_BYTES)
		write_file_atomic(cache, line, strlen(line), 0600, &ignored);
	return 0;
}

char *rec_incomplete_text(const struct rec *r)
{
	if (r->complete)
		return NULL;
	return str_fmt("%s: this recording is not finished (recorded processes still run, or fredctl record was "
		       "killed): its logs are read up to their last complete record",
		       r->dir);
}

/* ---- making ---- */

static int add_file(const char *dir, const char *name, json_t *list, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/%s", dir, name);
	char hex[16];
	uint64_t size;
	uint32_t crc;

	if (crc32c_file(path, &crc, &size, e))
		return -1;
	snprintf(hex, sizeof(hex), "%08x", crc);
	json_array_append_new(list,
			      json_pack("{s:s, s:I, s:s}", "path", name, "size", (json_int_t)size, "crc32c", hex));
	return 0;
}

static int add_names(const char *dir, const char *sub, struct strv *names, struct err *e);

/* Adds all files below the folder of a process; of other folders only the files in it. */
static int add_folder(const char *dir, const char *sub, const char *name, struct strv *names, struct err *e)
{
	cleanup_free char *path = *sub ? str_fmt("%s/%s", sub, name) : xstrdup(name);

	return *sub && *sub != 'p' ? 0 : add_names(dir, path, names, e);
}

/* Adds the names of the regular files in DIR/SUB ("" for DIR itself), relative to DIR. */
static int add_names(const char *dir, const char *sub, struct strv *names, struct err *e)
{
	cleanup_free char *path = *sub ? str_fmt("%s/%s", dir, sub) : xstrdup(dir);
	cleanup_closedir DIR *d = opendir(path);
	struct dirent *de;
	struct stat st;

	if (!d)
		return err_errno(e, ERR_INTERNAL, "%s", path);
	while ((de = readdir(d))) {
		if (de->d_name[0] == '.' || fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (*sub && S_ISREG(st.st_mode))
			strv_addf(names, "%s/%s", sub, de->d_name);
		else if (!*sub && S_ISREG(st.st_mode) && !strcmp(de->d_name, "control"))
			strv_add(names, de->d_name);
		else if (S_ISDIR(st.st_mode) && add_folder(dir, sub, de->d_name, names, e))
			return -1;
	}
	return 0;
}

json_t *rec_make_manifest(const char *dir, struct err *e)
{
	cleanup_strv struct strv names = {0};
	json_t *list = json_array();

	if (add_names(dir, "", &names, e))
		goto fail;
	strv_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		if (add_file(dir, names.s[i], list, e))
			goto fail;
	return list;
fail:
	json_decref(list);
	return NULL;
}
