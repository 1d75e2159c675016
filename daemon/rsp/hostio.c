/* SPDX-License-Identifier: MIT */
/* hostio.c: see hostio.h. Error numbers and struct stat are as the GDB manual has them ("File-I/O",
 * "Protocol-specific"). */
#include "rsp/hostio.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/str.h"

#define ACCESS_MODE 3 /* of the flags of open; 0: to read */
#define READ_MAX (RSP_PACKET_MAX / 4)

struct hostio_request {
	struct hostio *h;
	const struct rsp_ops *ops;
	void *ctx;
	struct buf *out;
};

typedef void (*operation_fn)(const struct hostio_request *r, const char *args);

/* GDB's numbers are Linux's, as far as they go. */
static void failed(const struct hostio_request *r, int error)
{
	int number = error == ENAMETOOLONG ? 91 : error > 0 && error <= EROFS ? error : 9999;

	buf_addf(r->out, "F-1,%x", number);
}

static bool path_of(const char *args, char path[PATH_MAX])
{
	size_t n = rsp_unhex(args, path, PATH_MAX - 1);

	path[n] = '\0';
	return n > 0 && strlen(path) == n;
}

/* The entry of a descriptor that GDB names; NULL, with an answer, when there is none. */
static int *file_of(const struct hostio_request *r, const char *args, const char **rest)
{
	char *end;
	unsigned long n = strtoul(args, &end, 16);

	*rest = end;
	if (end != args && n < HOSTIO_FILES && r->h->fd[n])
		return &r->h->fd[n];
	failed(r, EBADF);
	return NULL;
}

static void set_fs(const struct hostio_request *r, const char *args)
{
	buf_add_str(r->out, "F0");
}

static void open_file(const struct hostio_request *r, const char *args)
{
	const char *comma = strchr(args, ',');
	char path[PATH_MAX];
	int n = 0, fd;

	while (n < HOSTIO_FILES && r->h->fd[n])
		n++;
	if (!comma || !path_of(args, path))
		failed(r, EINVAL);
	else if (strtoul(comma + 1, NULL, 16) & ACCESS_MODE)
		failed(r, EROFS);
	else if (n == HOSTIO_FILES)
		failed(r, EMFILE);
	else if ((fd = r->ops->open_file(r->ctx, path)) < 0)
		failed(r, -fd);
	else {
		r->h->fd[n] = fd + 1;
		buf_addf(r->out, "F%x", n);
	}
}

static void close_file(const struct hostio_request *r, const char *args)
{
	int *f = file_of(r, args, &args);

	if (!f)
		return;
	close(*f - 1);
	*f = 0;
	buf_add_str(r->out, "F0");
}

/* pread:FD,COUNT,OFFSET */
static void pread_file(const struct hostio_request *r, const char *args)
{
	char data[READ_MAX];
	int *f = file_of(r, args, &args);
	uint64_t len, at;
	ssize_t n;

	if (!f)
		return;
	if (sscanf(args, ",%lx,%lx", &len, &at) != 2) {
		failed(r, EINVAL);
		return;
	}
	n = pread_full(*f - 1, data, len < READ_MAX ? len : READ_MAX, (off_t)at);
	if (n < 0) {
		failed(r, errno);
		return;
	}
	buf_addf(r->out, "F%zx;", (size_t)n);
	rsp_escape(r->out, data, (size_t)n);
}

static void big_endian(struct buf *b, uint64_t value, unsigned bytes)
{
	while (bytes--) {
		char byte = (char)(value >> 8 * bytes);

		rsp_escape(b, &byte, 1);
	}
}

static void stat_file(const struct hostio_request *r, const char *args)
{
	int *f = file_of(r, args, &args);
	struct stat st;

	if (!f)
		return;
	if (fstat(*f - 1, &st)) {
		failed(r, errno);
		return;
	}
	buf_add_str(r->out, "F40;");
	big_endian(r->out, st.st_dev, 4);
	big_endian(r->out, st.st_ino, 4);
	big_endian(r->out, st.st_mode, 4);
	big_endian(r->out, st.st_nlink, 4);
	big_endian(r->out, st.st_uid, 4);
	big_endian(r->out, st.st_gid, 4);
	big_endian(r->out, st.st_rdev, 4);
	big_endian(r->out, (uint64_t)st.st_size, 8);
	big_endian(r->out, (uint64_t)st.st_blksize, 8);
	big_endian(r->out, (uint64_t)st.st_blocks, 8);
	big_endian(r->out, (uint64_t)st.st_atime, 4);
	big_endian(r->out, (uint64_t)st.st_mtime, 4);
	big_endian(r->out, (uint64_t)st.st_ctime, 4);
}

/* All files that can be opened here are copies: none is a link. */
static void read_link(const struct hostio_request *r, const char *args)
{
	char path[PATH_MAX];
	int fd = path_of(args, path) ? r->ops->open_file(r->ctx, path) : -EINVAL;

	if (fd >= 0)
		close(fd);
	failed(r, fd >= 0 ? EINVAL : -fd);
}

static void read_only(const struct hostio_request *r, const char *args)
{
	failed(r, EROFS);
}

static const struct {
	const char *start;
	operation_fn fn;
} operations[] = {
	{"setfs:", set_fs},    {"open:", open_file},	 {"close:", close_file}, {"pread:", pread_file},
	{"fstat:", stat_file}, {"readlink:", read_link}, {"pwrite:", read_only}, {"unlink:", read_only},
};

void hostio_answer(struct hostio *h, const struct rsp_ops *ops, void *ctx, const char *args, struct buf *out)
{
	struct hostio_request r = {h, ops, ctx, out};

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (str_starts(args, operations[i].start)) {
			operations[i].fn(&r, args + strlen(operations[i].start));
			return;
		}
}

void hostio_fini(struct hostio *h)
{
	for (int i = 0; i < HOSTIO_FILES; i++)
		if (h->fd[i])
			close(h->fd[i] - 1);
	memset(h, 0, sizeof(*h));
}
