/* SPDX-License-Identifier: MIT */
/* pack_write.c: see pack.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "launch/sanitizers.h"
#include "pack/pack.h"
#include "reclog/files.h"
#include "reclog/frames.h"
#include "reclog/reader.h"
#include "reclog/rec.h"

struct writer {
	const struct rec *rec;
	bool without_data;
	int fd;
	ZSTD_CCtx *z;
	uint8_t out[1u << 17];
};

static int put(struct writer *w, const void *data, size_t len, ZSTD_EndDirective how, struct err *e)
{
	ZSTD_inBuffer in = {data, len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {w->out, sizeof(w->out), 0};

		left = ZSTD_compressStream2(w->z, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(e, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(left));
		if (write_full(w->fd, w->out, out.pos))
			return err_errno(e, ERR_HOST, "writing");
	} while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
	return 0;
}

static int put_head(struct writer *w, const char *name, uint64_t size, struct err *e)
{
	uint8_t head[TAR_BLOCK];

	tar_header(head, name, size, str_starts(name, "files/") ? 0700 : 0600);
	return put(w, head, sizeof(head), ZSTD_e_continue, e);
}

static int put_padding(struct writer *w, uint64_t size, struct err *e)
{
	static const uint8_t zero[TAR_BLOCK];
	size_t over = (size_t)(size % TAR_BLOCK);

	return over ? put(w, zero, TAR_BLOCK - over, ZSTD_e_continue, e) : 0;
}

static int put_buf(struct writer *w, const char *name, const struct buf *b, struct err *e)
{
	return put_head(w, name, b->len, e) || put(w, b->data, b->len, ZSTD_e_continue, e) || put_padding(w, b->len, e)
		       ? -1
		       : 0;
}

/* Adds a file unchanged. -1 also if its size differs from that in the manifest, as the pack could not be unpacked. */
static int put_file(struct writer *w, const char *path, const char *name, uint64_t size, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	static uint8_t chunk[1u << 17];
	uint64_t left = size;
	ssize_t n = 1;

	if (fd < 0)
		return err_errno(e, ERR_USAGE, "%s", path);
	if (put_head(w, name, size, e))
		return -1;
	while (left && (n = read_full(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk))) > 0) {
		if (put(w, chunk, (size_t)n, ZSTD_e_continue, e))
			return -1;
		left -= (uint64_t)n;
	}
	if (n < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (left)
		return err_set(e, ERR_USAGE, "%s: it changed while it was packed", path);
	return put_padding(w, size, e);
}

/* ---- without the data ---- */

/* Where the log of a bounded recording begins; 0: at its beginning. name: "pNNNN/tNNNN.log". */
static uint64_t log_start(const struct rec *rec, const char *name)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, (uint32_t)strtoul(name + 1, NULL, 10), &ignored);
	const struct rec_start_thread *t =
		img ? rec_start_of(img->start, (uint32_t)strtoul(strchr(name, '/') + 2, NULL, 10)) : NULL;

	return t ? t->offset : 0;
}

/* Zeroes the results of calls: what the kernel wrote into the program's memory. */
static int blank_log(struct buf *b, const char *name, uint64_t start, struct err *e)
{
	struct reader log;
	struct reader_iter it;
	struct rlog_rec rec;
	enum rlog_read got;

	if (reader_init_mem(&log, name, b->data, b->len, e))
		return -1;
	log.lenient = true;
	log.start = start;
	it = reader_begin(&log);
	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK)
		if (rec.kind == RLOG_SYSRET || rec.kind == RLOG_CALLRET)
			memset(b->data + (rec.payload - log.base), 0, rec.payload_len);
	/* an incomplete record may follow the last whole one */
	if (got == RLOG_READ_END)
		memset((char *)it.p, 0, (size_t)(log.base + log.size - it.p));
	else
		reader_explain(&it, e);
	reader_fini(&log);
	return got == RLOG_READ_END ? 0 : -1;
}

/* Zeroes the values of environment variables, except the part that the program does not see. */
static int blank_image(const struct rec *rec, uint32_t ordinal, struct buf *b, struct err *e)
{
	const struct rec_image *img = rec_image(rec, ordinal, e);

	if (!img)
		return -1;
	for (char **v = img->envp; *v; v++) {
		size_t at = sizeof(img->head) + (size_t)(*v - img->strings), name = strcspn(*v, "=");

		if (!str_starts(*v, "FRED=") && !str_starts(*v, "LD_PRELOAD=") && !str_starts(*v, LAUNCH_LSAN) &&
		    (*v)[name])
			memset(b->data + at + name + 1, 'x', strlen(*v) - name - 1);
	}
	return 0;
}

/* Reads a whole log, with its compressed parts. */
static int read_log(const struct rec *rec, const char *path, struct buf *b, struct err *e)
{
	cleanup_close int fd = memfd_create("log", MFD_CLOEXEC);

	if (!rec_log_changes(rec, path))
		return read_file(path, b, e);
	if (fd < 0)
		return err_errno(e, ERR_HOST, "memfd_create");
	return frames_unpack(path, fd, 0, e) || lseek(fd, 0, SEEK_SET) || read_fd(fd, b, e) ? -1 : 0;
}

static int load_blank(const struct writer *w, const char *name, struct buf *b, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/%s", w->rec->dir, name);

	if (str_ends(name, ".log") ? read_log(w->rec, path, b, e) : read_file(path, b, e))
		return -1;
	if (str_ends(name, ".log") && b->len >= sizeof(struct rlog_head))
		return blank_log(b, path, log_start(w->rec, name), e);
	if (str_ends(name, "/image") && b->len >= sizeof(struct rlog_image))
		return blank_image(w->rec, (uint32_t)strtoul(name + 1, NULL, 10), b, e);
	return 0;
}

static bool is_blanked(const struct writer *w, const char *name)
{
	return w->without_data && name[0] == 'p' && !str_ends(name, "/files") && !str_ends(name, "/start");
}

/* Keeps the copies of programs that were started: they hold no data of the run. */
static int program_files(const struct rec *rec, json_t *keep, struct err *e)
{
	for (unsigned i = 0; i < rec->nimages; i++) {
		struct rec_files l;

		if (rec_files_read(rec, rec->images[i].ordinal, &l, e))
			return -1;
		for (size_t k = 0; k < l.n; k++) {
			cleanup_free char *name = str_fmt("files/%s", l.f[k].copy);

			json_object_set_new(keep, name, json_true());
		}
		rec_files_fini(&l);
	}
	return 0;
}

/* ---- the manifest of the pack ---- */

static int blank_entry(const struct writer *w, const char *name, json_t *entry, struct err *e)
{
	cleanup_buf struct buf b = {0};
	char hex[16];

	if (load_blank(w, name, &b, e))
		return -1;
	snprintf(hex, sizeof(hex), "%08x", crc32c(0, b.data, b.len));
	json_object_set_new(entry, "crc32c", json_string(hex));
	json_object_set_new(entry, "size", json_integer((json_int_t)b.len));
	return 0;
}

/* Makes a manifest of the recording as it is now, without the files that are left out. */
static json_t *make_manifest(const struct writer *w, struct err *e)
{
	json_auto_t *all = rec_make_manifest(w->rec->dir, e), *keep = json_object();
	json_t *list = json_array(), *entry;
	size_t i;

	if (!all || (w->without_data && program_files(w->rec, keep, e)))
		goto fail;
	json_array_foreach(all, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "path"));

		if (!pack_name_ok(name) ||
		    (w->without_data && str_starts(name, "files/") && !json_object_get(keep, name)) ||
		    (w->without_data && (str_ends(name, ".zst") || strstr(name, "/ckpt/")))) /* in the log; memory */
			continue;
		if (is_blanked(w, name) && blank_entry(w, name, entry, e))
			goto fail;
		json_array_append(list, entry);
	}
	return list;
fail:
	json_decref(list);
	return NULL;
}

static int put_entry(struct writer *w, const json_t *entry, struct err *e)
{
	const char *name = json_string_value(json_object_get(entry, "path"));
	cleanup_free char *path = str_fmt("%s/%s", w->rec->dir, name);
	cleanup_buf struct buf b = {0};

	if (!is_blanked(w, name))
		return put_file(w, path, name, (uint64_t)json_integer_value(json_object_get(entry, "size")), e);
	return load_blank(w, name, &b, e) || put_buf(w, name, &b, e) ? -1 : 0;
}

static int put_all(struct writer *w, struct err *e)
{
	static const uint8_t end[2 * TAR_BLOCK];
	json_auto_t *meta = json_deep_copy(w->rec->meta);
	cleanup_buf struct buf text = {0};
	json_t *list = make_manifest(w, e), *entry;
	size_t i;

	if (!list)
		return -1;
	json_object_set_new(meta, "manifest", list);
	if (w->without_data)
		json_object_set_new(meta, "without_data", json_true());
	rec_seal_meta(meta);
	json_add_to(&text, meta);
	if (put_buf(w, PACK_META, &text, e))
		return -1;
	json_array_foreach(list, i, entry) if (put_entry(w, entry, e)) return -1;
	return put(w, end, sizeof(end), ZSTD_e_end, e);
}

static int write_to(struct writer *w, const char *file, uint64_t *bytes, struct err *e)
{
	struct stat st;

	w->fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->fd < 0)
		return err_errno(e, ERR_USAGE, "%s", file);
	w->z = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
	if (put_all(w, e) || fstat(w->fd, &st) || fsync(w->fd)) {
		err_wrap(e, "%s", file);
		unlink(file);
		return -1;
	}
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int pack_write(const char *dir, const char *file, bool without_data, uint64_t *bytes, struct err *e)
{
	cleanup_free struct writer *w = xcalloc(1, sizeof(*w));
	struct rec *rec;
	int r;

	if (rec_open(dir, &rec, e))
		return -1;
	*w = (struct writer){.rec = rec, .without_data = without_data || rec->without_data, .fd = -1};
	r = rec_verify_manifest(rec, e) ? -1 : write_to(w, file, bytes, e);
	if (w->fd >= 0)
		close(w->fd);
	ZSTD_freeCCtx(w->z);
	rec_free(rec);
	return r;
}
