// SPDX-License-Identifier: MIT
/* fdio.c: whole reads, whole writes, whole files. */
#include "base/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

#define CHUNK 65536

static enum err_kind kind_of_errno(void)
{
	return errno == ENOENT || errno == ENOTDIR ? ERR_USAGE : ERR_INTERNAL;
}

/* at < 0: at the descriptor's current offset. */
static ssize_t read_all(int fd, char *p, size_t n, off_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = at < 0 ? read(fd, p + done, n - done) : pread(fd, p + done, n - done, at + (off_t)done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (!r)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

static int write_all(int fd, const char *p, size_t n, off_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = at < 0 ? write(fd, p + done, n - done) : pwrite(fd, p + done, n - done, at + (off_t)done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		done += (size_t)r;
	}
	return 0;
}

ssize_t read_full(int fd, void *p, size_t n)
{
	return read_all(fd, p, n, -1);
}

ssize_t pread_full(int fd, void *p, size_t n, off_t at)
{
	return read_all(fd, p, n, at);
}

int write_full(int fd, const void *p, size_t n)
{
	return write_all(fd, p, n, -1);
}

int pwrite_full(int fd, const void *p, size_t n, off_t at)
{
	return write_all(fd, p, n, at);
}

int read_fd(int fd, struct buf *out, struct err *e)
{
	for (;;) {
		ssize_t r = read_full(fd, buf_reserve(out, CHUNK), CHUNK);

		if (r < 0)
			return err_errno(e, ERR_INTERNAL, "read");
		if (r)
			buf_added(out, (size_t)r);
		if (r < CHUNK)
			return 0;
	}
}

int read_file(const char *path, struct buf *out, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, kind_of_errno(), "%s", path);
	if (read_fd(fd, out, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

int write_file(const char *path, const void *data, size_t len, mode_t mode, struct err *e)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0)
		return err_errno(e, kind_of_errno(), "%s", path);
	if (write_full(fd, data, len) < 0 || close(steal_fd(&fd)) < 0)
		return err_errno(e, ERR_INTERNAL, "%s", path);
	return 0;
}

static int sync_dir_of(const char *path)
{
	cleanup_free char *dir = path_dir(path);
	cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	/* EINVAL: a file system that has nothing to sync here. */
	return fsync(fd) < 0 && errno != EINVAL ? -1 : 0;
}

static int fill_temp(int fd, const void *data, size_t len, mode_t mode)
{
	if (fchmod(fd, mode) < 0 || write_full(fd, data, len) < 0 || fsync(fd) < 0)
		return -1;
	return 0;
}

int write_file_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *e)
{
	cleanup_free char *temp = str_fmt("%s.XXXXXX", path);
	cleanup_close int fd = mkostemp(temp, O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, kind_of_errno(), "%s", path);
	if (fill_temp(fd, data, len, mode) < 0 || close(steal_fd(&fd)) < 0 || rename(temp, path) < 0) {
		int saved = errno;

		unlink(temp);
		errno = saved;
		return err_errno(e, ERR_INTERNAL, "%s", path);
	}
	if (sync_dir_of(path) < 0)
		return err_errno(e, ERR_INTERNAL, "%s: fsync of its folder", path);
	return 0;
}

/* The kernel copies what it can; returns 1 when all was copied, 0 when the caller must go on, or -1. */
static int copy_in_kernel(int from, int to)
{
	for (;;) {
		ssize_t r = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);

		if (r > 0 || (r < 0 && errno == EINTR))
			continue;
		if (!r || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
		    errno == EBADF || errno == EPERM)
			return 0;
		return -1;
	}
}

int copy_fd(int from, int to, struct err *e)
{
	char chunk[CHUNK];
	ssize_t r;

	if (copy_in_kernel(from, to) < 0)
		return err_errno(e, ERR_INTERNAL, "copy");
	/* Needed also when the kernel has copied all: files of /proc claim to be empty. */
	while ((r = read_full(from, chunk, sizeof(chunk))) > 0)
		if (write_full(to, chunk, (size_t)r) < 0)
			return err_errno(e, ERR_INTERNAL, "write");
	return r < 0 ? err_errno(e, ERR_INTERNAL, "read") : 0;
}

int copy_file(const char *from, const char *to, struct err *e)
{
	cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_close int out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return err_errno(e, kind_of_errno(), "%s", from);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		return err_errno(e, kind_of_errno(), "%s", to);
	if (copy_fd(in, out, e) < 0)
		return err_wrap(e, "%s to %s", from, to);
	if (fchmod(out, st.st_mode & 07777) < 0 || close(steal_fd(&out)) < 0)
		return err_errno(e, ERR_INTERNAL, "%s", to);
	return 0;
}

off_t next_data(int fd, off_t at, off_t size)
{
	off_t next = lseek(fd, at, SEEK_DATA);

	if (next < 0)
		next = errno == ENXIO ? size : at;
	return next > at ? next : at;
}

/* Moves both descriptors to the next offset at which one of them has data. 0, or -1. */
static int skip_holes(int x, int y, off_t *at, off_t size)
{
	off_t a = next_data(x, *at, size), b = next_data(y, *at, size);

	*at = a < b ? a : b;
	return lseek(x, *at, SEEK_SET) < 0 || lseek(y, *at, SEEK_SET) < 0 ? -1 : 0;
}

bool same_bytes(const char *a, const char *b)
{
	cleanup_close int x = open(a, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			  y = open(b, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	static char p[CHUNK], q[CHUNK];
	struct stat s, t;
	off_t at = 0;
	ssize_t n = 0, m;

	if (x < 0 || y < 0 || fstat(x, &s) || fstat(y, &t) || s.st_size != t.st_size)
		return false;
	do {
		at += n;
		if (S_ISREG(s.st_mode) && S_ISREG(t.st_mode) && skip_holes(x, y, &at, s.st_size))
			return false;
		n = read_full(x, p, sizeof(p));
		m = read_full(y, q, sizeof(q));
	} while (n == m && n > 0 && !memcmp(p, q, (size_t)n));
	return n == 0 && m == 0;
}
