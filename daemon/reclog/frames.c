/* SPDX-License-Identifier: MIT */
/* frames.c: see frames.h. Nothing that a file says is trusted: offsets are checked before they are used. */
#include "reclog/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "rlog/rlog.h"

#define MAX_LOG (1ull << 40)

char *frames_path(const char *log)
{
	return str_fmt("%.*s.zst", (int)(strlen(log) - strlen(".log")), log);
}

/* ---- which there are ---- */

/* 1: there is a whole frame at f->size; 0: no more; -1: damage */
static int next_frame(struct frames *f, struct rlog_frame *h)
{
	if (f->mapped - f->size < sizeof(*h))
		return 0;
	memcpy(h, f->map + f->size, sizeof(*h));
	if (h->magic != RLOG_FRAME_MAGIC || h->skip != sizeof(*h) - 8)
		return -1;
	if (h->packed > f->mapped - f->size - sizeof(*h))
		return 0;
	if (h->offset < RLOG_FRAME_START || h->offset > MAX_LOG || (f->size && h->offset != f->end))
		return -1;
	if (!f->size)
		f->from = h->offset;
	f->end = h->offset + h->bytes;
	f->size += sizeof(*h) + h->packed;
	return 1;
}

static int map_file(struct frames *f, const char *path, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *p;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st))
		return err_errno(e, ERR_INTERNAL, "%s", path);
	if (!st.st_size)
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_INTERNAL, "%s: mmap", path);
	f->map = p;
	f->mapped = (uint64_t)st.st_size;
	return 0;
}

int frames_open(struct frames *f, const char *log, struct err *e)
{
	cleanup_free char *path = frames_path(log);
	struct rlog_frame h;
	int got = 0;

	*f = (struct frames){0};
	if (map_file(f, path, e))
		return -1;
	while (f->map && (got = next_frame(f, &h)) > 0)
		;
	if (!got)
		return 0;
	err_set(e, ERR_USAGE, "%s: damaged at offset %llu: not a part of a log", path, (unsigned long long)f->size);
	frames_close(f);
	return -1;
}

void frames_close(struct frames *f)
{
	if (f->map)
		munmap((void *)f->map, f->mapped);
	*f = (struct frames){0};
}

/* ---- the whole ---- */

/* Copies what the log's own file still has, without the holes. */
static int copy_plain(int from, int to, uint64_t *size, struct err *e)
{
	cleanup_free char *chunk = xmalloc(1u << 18);
	off_t at = 0, end;
	struct stat st;

	if (fstat(from, &st))
		return err_errno(e, ERR_INTERNAL, "fstat");
	*size = (uint64_t)st.st_size;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < st.st_size) {
		if ((end = lseek(from, at, SEEK_HOLE)) < 0)
			return err_errno(e, ERR_INTERNAL, "lseek");
		for (ssize_t n; at < end; at += n) {
			n = pread_full(from, chunk, end - at < 1 << 18 ? (size_t)(end - at) : 1u << 18, at);
			if (n < 0 || pwrite_full(to, chunk, (size_t)n, at))
				return err_errno(e, ERR_INTERNAL, "copying");
			if (!n)
				return 0; /* the log was truncated meanwhile: all of it is in frames now */
		}
	}
	return 0;
}

static int unpack_frames(const struct frames *f, uint8_t *to, struct err *e)
{
	struct frames walk = {.map = f->map, .mapped = f->size};
	struct rlog_frame h;
	ZSTD_DCtx *z = ZSTD_createDCtx();
	size_t got = 0;

	while (next_frame(&walk, &h) > 0) {
		got = ZSTD_decompressDCtx(z, to + h.offset, h.bytes, walk.map + walk.size - h.packed, h.packed);
		if (ZSTD_isError(got) || got != h.bytes)
			break;
		got = 0;
	}
	ZSTD_freeDCtx(z);
	if (!got)
		return 0;
	return err_set(e, ERR_USAGE, "damaged at offset %llu: %s", (unsigned long long)(walk.size - h.packed),
		       ZSTD_isError(got) ? ZSTD_getErrorName(got) : "a part of another size");
}

static int put_frames(const char *log, int to, uint64_t size, uint64_t room, struct err *e)
{
	struct frames f;
	void *p = NULL;
	int r = 0;

	/* opened after the copy, since what was cut out of the log meanwhile is in a frame by now */
	if (frames_open(&f, log, e))
		return -1;
	if (f.end > size)
		size = f.end;
	if (ftruncate(to, (off_t)(size > room ? size : room)))
		r = err_errno(e, ERR_HOST, "ftruncate");
	if (!r && f.size) {
		p = mmap(NULL, f.end, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
		r = p == MAP_FAILED ? err_errno(e, ERR_HOST, "mmap") : unpack_frames(&f, p, e);
	}
	if (p && p != MAP_FAILED)
		munmap(p, f.end);
	frames_close(&f);
	return r;
}

int frames_unpack(const char *log, int to, uint64_t room, struct err *e)
{
	cleanup_close int from = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t size = 0;

	if (from < 0)
		return err_errno(e, errno == ENOENT ? ERR_USAGE : ERR_INTERNAL, "%s", log);
	if (copy_plain(from, to, &size, e) || put_frames(log, to, size, room, e))
		return err_wrap(e, "%s", log);
	return 0;
}
