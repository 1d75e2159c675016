/* SPDX-License-Identifier: MIT */
/*
 * pack_read.c: see pack.h. The file is not trusted: names must be those of a recording's files, sizes must be those of
 * the manifest, and fit on the disk; and each file is created new, in a folder that belongs to this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/paths.h"
#include "pack/pack.h"
#include "recfiles/shared_files.h"
#include "reclog/host.h"
#include "reclog/reader.h"
#include "rlog/rlog.h"

struct pack {
	char *file;
	int fd;
	ZSTD_DCtx *z;
	uint8_t raw[1u << 17];
	ZSTD_inBuffer in;
	bool whole; /* the frame has ended, and its checksum was right */
	json_t *meta;
	uint64_t bytes; /* what the files will take on the disk */
};

static bool digits(const char **s, size_t n)
{
	size_t k = strspn(*s, "0123456789");

	*s += k;
	return k == n;
}

/* "ID/ckpt.json", "ID/images/NAME" or "ID/files/NAME" */
static bool checkpoint_name_ok(const char *s)
{
	size_t n = strspn(s, "0123456789");

	if (!n || s[n] != '/')
		return false;
	s += n + 1;
	if (str_eq(s, "ckpt.json"))
		return true;
	if (!str_starts(s, "images/") && !str_starts(s, "files/"))
		return false;
	s = strchr(s, '/') + 1;
	return *s && *s != '.' && !s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.")];
}

bool pack_name_ok(const char *name)
{
	const char *s = name;

	if (!name || strlen(name) > 100)
		return false;
	if (str_eq(name, "control") || str_eq(name, "files/" RLOG_SHIM_NAME))
		return true;
	if (str_starts(name, "files/"))
		return name[6] && !name[6 + strspn(name + 6, "0123456789abcdef-")];
	if (*s++ != 'p' || !digits(&s, 4) || *s++ != '/')
		return false;
	if (str_eq(s, "image") || str_eq(s, "files") || str_eq(s, "traps") || str_eq(s, "start"))
		return true;
	if (str_starts(s, "ckpt/"))
		return checkpoint_name_ok(s + 5);
	return *s++ == 't' && digits(&s, 4) && (str_eq(s, ".log") || str_eq(s, ".zst"));
}

/* ---- the stream ---- */

/* Reads up to n bytes of the archive; fewer only at its end. -1: it is damaged, or cannot be read. */
static ssize_t get(struct pack *p, void *to, size_t n, struct err *e)
{
	ZSTD_outBuffer out = {to, n, 0};

	while (out.pos < out.size && !p->whole) {
		size_t left;

		if (p->in.pos == p->in.size) {
			ssize_t got = read_full(p->fd, p->raw, sizeof(p->raw));

			if (got < 0)
				return err_errno(e, ERR_HOST, "%s", p->file);
			if (!got)
				return err_set(e, ERR_USAGE, "%s: damaged: it is truncated", p->file);
			p->in = (ZSTD_inBuffer){p->raw, (size_t)got, 0};
		}
		left = ZSTD_decompressStream(p->z, &out, &p->in);
		if (ZSTD_isError(left))
			return err_set(e, ERR_USAGE, "%s: not a packed recording, or damaged: %s", p->file,
				       ZSTD_getErrorName(left));
		p->whole = left == 0;
	}
	return (ssize_t)out.pos;
}

static int get_all(struct pack *p, void *to, size_t n, struct err *e)
{
	ssize_t got = get(p, to, n, e);

	if (got < 0)
		return -1;
	return (size_t)got == n ? 0 : err_set(e, ERR_USAGE, "%s: damaged: it is truncated", p->file);
}

static int get_padding(struct pack *p, uint64_t size, struct err *e)
{
	uint8_t pad[TAR_BLOCK];
	size_t over = (size_t)(size % TAR_BLOCK);

	return over ? get_all(p, pad, TAR_BLOCK - over, e) : 0;
}

/* Reads the head of the next entry. 1: an entry; 0: the end. */
static int get_head(struct pack *p, struct tar_entry *t, struct err *e)
{
	uint8_t head[TAR_BLOCK];
	int r;

	if (get_all(p, head, sizeof(head), e))
		return -1;
	r = tar_parse(head, t, e);
	return r < 0 ? err_wrap(e, "%s", p->file) : r;
}

/* ---- meta.json ---- */

static int check_manifest(struct pack *p, struct err *e)
{
	json_t *list = json_object_get(p->meta, "manifest"), *entry;
	const char *name, *crc, *before = "";
	uint64_t size, v;
	size_t i;

	if (!json_is_array(list))
		return err_set(e, ERR_USAGE, "there is no manifest");
	json_array_foreach(list, i, entry)
	{
		if (json_get_str(entry, "path", &name, e) || json_get_u64(entry, "size", &size, e) ||
		    json_get_str(entry, "crc32c", &crc, e))
			return -1;
		if (!pack_name_ok(name))
			return err_set(e, ERR_USAGE, "'%s' is not the name of a recording's file: nothing was written",
				       name);
		if (strcmp(before, name) >= 0)
			return err_set(e, ERR_USAGE, "'%s' is out of order", name);
		if (str_u64(crc, 16, 0, UINT32_MAX, &v) || size > INT64_MAX / 2 || p->bytes + size > INT64_MAX / 2)
			return err_set(e, ERR_USAGE, "the size or sum of '%s' is out of range", name);
		p->bytes += size;
		before = name;
	}
	return 0;
}

static int read_meta(struct pack *p, struct err *e)
{
	cleanup_free char *text = NULL;
	struct tar_entry t;
	int64_t format = 0;
	int r = get_head(p, &t, e);

	if (r < 0)
		return -1;
	if (!r || !str_eq(t.name, PACK_META))
		return err_set(e, ERR_USAGE, "%s: not a packed recording: it does not begin with " PACK_META, p->file);
	if (t.size > PACK_MAX_META)
		return err_set(e, ERR_USAGE, "%s: damaged: " PACK_META " of %llu bytes", p->file,
			       (unsigned long long)t.size);
	text = xmalloc(t.size + 1);
	if (get_all(p, text, t.size, e) || get_padding(p, t.size, e))
		return -1;
	p->meta = json_parse(text, t.size, e);
	if (!p->meta || json_get_i64(p->meta, "format", &format, e)) {
		e->kind = ERR_USAGE;
		return err_wrap(e, "%s: " PACK_META, p->file);
	}
	if (reader_version_check(p->file, format, e))
		return -1;
	return check_manifest(p, e) ? err_wrap(e, "%s: " PACK_META, p->file) : 0;
}

int pack_open(const char *file, struct pack **out, struct err *e)
{
	struct pack *p = xcalloc(1, sizeof(*p));

	*out = p;
	p->file = xstrdup(file);
	p->fd = open(file, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0) {
		err_errno(e, ERR_USAGE, "%s", file);
	} else {
		p->z = ZSTD_createDCtx();
		if (!read_meta(p, e))
			return 0;
	}
	pack_close(p);
	*out = NULL;
	return -1;
}

const json_t *pack_meta(const struct pack *p)
{
	return p->meta;
}

void pack_close(struct pack *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	ZSTD_freeDCtx(p->z);
	json_decref(p->meta);
	free(p->file);
	free(p);
}

/* ---- files ---- */

/* Creates a new file below dir, and its folders. */
static int create(int dir, const char *name)
{
	int fd;

	for (const char *s = strchr(name, '/'); s; s = strchr(s + 1, '/')) {
		cleanup_free char *folder = xstrndup(name, (size_t)(s - name));

		if (mkdirat(dir, folder, 0700) && errno != EEXIST)
			return -1;
	}
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* with the mode that the recorder gives them */
	if (fd >= 0 && str_starts(name, "files/") && fchmod(fd, 0555)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int extract_file(struct pack *p, int dir, const char *name, uint64_t size, uint32_t want, struct err *e)
{
	cleanup_close int fd = create(dir, name);
	static uint8_t chunk[1u << 17];
	uint32_t crc = 0;

	if (fd < 0)
		return err_errno(e, ERR_HOST, "%s", name);
	for (uint64_t left = size; left;) {
		size_t n = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);

		if (get_all(p, chunk, n, e))
			return -1;
		if (write_full(fd, chunk, n))
			return err_errno(e, ERR_HOST, "%s", name);
		crc = crc32c(crc, chunk, n);
		left -= n;
	}
	if (crc != want)
		return err_set(e, ERR_USAGE, "%s: damaged: %s has the CRC32C %08x, its manifest says %08x", p->file,
			       name, crc, want);
	return get_padding(p, size, e);
}

static int extract_entry(struct pack *p, int dir, const json_t *entry, struct err *e)
{
	const char *name = json_string_value(json_object_get(entry, "path"));
	uint64_t size = (uint64_t)json_integer_value(json_object_get(entry, "size"));
	uint32_t crc = (uint32_t)strtoul(json_string_value(json_object_get(entry, "crc32c")), NULL, 16);
	struct tar_entry t;
	int r = get_head(p, &t, e);

	if (r < 0)
		return -1;
	if (!r || !str_eq(t.name, name) || t.size != size)
		return err_set(e, ERR_USAGE, "%s: damaged: expected %s (%llu bytes), found %s (%llu bytes)", p->file,
			       name, (unsigned long long)size, r ? t.name : "the end",
			       r ? (unsigned long long)t.size : 0);
	return extract_file(p, dir, name, size, crc, e);
}

/* After the last file: blocks of zeros, the checksum, and nothing else. */
static int check_end(struct pack *p, struct err *e)
{
	struct tar_entry t;
	uint8_t more;
	ssize_t n;
	int r = get_head(p, &t, e);

	if (r < 0)
		return -1;
	if (r)
		return err_set(e, ERR_USAGE, "%s: damaged: '%s' is not in its manifest", p->file, t.name);
	while ((n = get(p, &more, 1, e)) > 0)
		if (more)
			return err_set(e, ERR_USAGE, "%s: damaged: there is data after the last file", p->file);
	if (n < 0)
		return -1;
	if (p->in.pos < p->in.size || read_full(p->fd, &more, 1) > 0)
		return err_set(e, ERR_USAGE, "%s: damaged: there is data after the end of the archive", p->file);
	return 0;
}

static int check_space(const struct pack *p, const char *dir, struct err *e)
{
	struct statvfs st;

	if (statvfs(dir, &st))
		return err_errno(e, ERR_HOST, "%s", dir);
	if ((unsigned long long)st.f_bavail * st.f_frsize < p->bytes)
		return err_set(e, ERR_HOST, "%s: the disk is full: the recording in %s takes %llu MB", dir, p->file,
			       (unsigned long long)(p->bytes >> 20));
	return 0;
}

static int extract(struct pack *p, const char *path, struct err *e)
{
	cleanup_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *meta = str_fmt("%s/" PACK_META, path);
	json_t *entry;
	size_t i;

	if (dir < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (check_space(p, path, e))
		return -1;
	json_array_foreach(json_object_get(p->meta, "manifest"), i,
			   entry) if (extract_entry(p, dir, entry, e)) return -1;
	if (check_end(p, e))
		return -1;
	/* written last, since only this makes it a recording */
	return json_write_path(meta, p->meta, 0600, e);
}

int pack_unpack(struct pack *p, const char *wanted, char **dir, struct err *e)
{
	const char *program = json_string_value(json_object_get(pack_meta(p), "program"));
	bool existed = wanted && path_exists(wanted),
	     without = json_is_true(json_object_get(pack_meta(p), "without_data"));
	struct err ignored;

	if (!without && rec_host_check(pack_meta(p), e))
		return -1;
	*dir = paths_new_recording(wanted, program && *program ? program : "unpacked", e);
	if (!*dir)
		return -1;
	if (!extract(p, *dir, e)) {
		shared_files_link(*dir, json_object_get(pack_meta(p), "manifest"));
		return 0;
	}
	rm_rf(*dir, &ignored);
	if (existed)
		mkdir_p(*dir, 0700, &ignored);
	return -1;
}
