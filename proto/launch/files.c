/* SPDX-License-Identifier: MIT */
/* files.c: see files.h. Text for the process is written below its stack pointer, and removed again. */
#include "launch/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "launch/calls.h"

#define RED_ZONE 128u
#define NAME_BYTES 16u /* of a task (PR_SET_NAME) */

/* ---- at the start of the program ---- */

static int read_vector(pid_t pid, uint64_t type, uint64_t *value)
{
	cleanup_free char *path = str_fmt("/proc/%d/auxv", (int)pid);
	cleanup_buf struct buf b = {0};
	struct err ignored;

	if (read_file(path, &b, &ignored))
		return -1;
	for (size_t at = 0; at + 16 <= b.len; at += 16)
		if (!memcmp(b.data + at, &type, 8)) {
			memcpy(value, b.data + at + 8, 8);
			return 0;
		}
	return -1;
}

/* Writes also where the process itself may not write. */
static int write_anywhere(pid_t pid, uint64_t at, const char *text, size_t n)
{
	cleanup_free char *path = str_fmt("/proc/%d/mem", (int)pid);
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : pwrite_full(fd, text, n, (off_t)at);
}

static int give_names(pid_t pid, const struct launch_files *f, const char *path)
{
	uint64_t name, headers;

	if (strlen(path) != strlen(f->name)) {
		errno = EINVAL;
		return -1;
	}
	if (read_vector(pid, AT_EXECFN, &name) || write_anywhere(pid, name, path, strlen(path)))
		return -1;
	if (!f->linker)
		return 0;
	return read_vector(pid, AT_PHDR, &headers) || write_anywhere(pid, headers - f->headers_at + f->linker_at,
								     f->linker, sizeof(LAUNCH_LINKER))
		       ? -1
		       : 0;
}

const char *files_begin(pid_t pid, bool placed, const struct launch_files *f, const char *path)
{
	struct {
		char cwd[8], name[NAME_BYTES];
	} data = {.cwd = LAUNCH_CWD};
	const struct place_one calls[] = {
		{SYS_chdir, {offsetof(typeof(data), cwd)}, 1},
		{SYS_prctl, {PR_SET_NAME, offsetof(typeof(data), name)}, 2},
	};

	snprintf(data.name, sizeof(data.name), "%s", path_base(path));
	if (give_names(pid, f, path))
		return strerror(errno);
	return place_calls(pid, !placed, calls, sizeof(calls) / sizeof(calls[0]), &data, sizeof(data));
}

/* ---- the linker's calls ---- */

/* Which argument is a path: 0, 1, or -1. */
static int path_argument(uint64_t nr)
{
	switch (nr) {
	case SYS_open:
	case SYS_stat:
	case SYS_lstat:
	case SYS_access:
	case SYS_readlink:
	case SYS_statfs:
		return 0;
	case SYS_openat:
	case SYS_newfstatat:
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_readlinkat:
	case SYS_statx:
		return 1;
	default:
		return -1;
	}
}

static int copy_out(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -1;
}

static int copy_in(pid_t pid, uint64_t at, const void *from, size_t n)
{
	struct iovec here = {(void *)(uintptr_t)from, n}, there = {(void *)(uintptr_t)at, n};

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -1;
}

/* Reads a string, page by page. Returns its length, or -1. */
static ssize_t read_path(pid_t pid, uint64_t at, char path[PATH_MAX])
{
	size_t n = 0;

	while (n < PATH_MAX) {
		size_t here = 4096 - (at + n) % 4096;

		if (here > PATH_MAX - n)
			here = PATH_MAX - n;
		if (copy_out(pid, at + n, path + n, here))
			return -1;
		if (memchr(path + n, 0, here))
			return (ssize_t)strlen(path);
		n += here;
	}
	return -1;
}

/*
 * Is the path to be changed? Relative names are below the working directory, which is in the folder; /proc is about the
 * process itself.
 */
static bool is_led(const char *path)
{
	return path[0] == '/' && !str_starts(path, "/proc/");
}

static int changed_nothing(struct err *e)
{
	return err_errno(e, ERR_HOST, "cannot lead the dynamic linker to its files");
}

int files_enter(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, struct files_call *c,
		struct err *e)
{
	int which = path_argument(r->orig_rax);
	unsigned long long *argument = which ? &r->rsi : &r->rdi;
	size_t root = strlen(f->root);
	char path[2 * PATH_MAX];
	ssize_t n;

	if (which < 0 || root >= PATH_MAX)
		return 0;
	memcpy(path, f->root, root);
	n = read_path(pid, *argument, path + root);
	if (n < 0 || !is_led(path + root))
		return 0;
	c->were = *r;
	c->n = (unsigned)(root + (size_t)n + 1);
	c->at = (r->rsp - RED_ZONE - c->n) & ~15ull;
	if (copy_out(pid, c->at, c->there, c->n) || copy_in(pid, c->at, path, c->n))
		return changed_nothing(e);
	*argument = c->at;
	return 1;
}

int files_leave(pid_t pid, const struct files_call *c, struct err *e)
{
	return copy_in(pid, c->at, c->there, c->n) ? changed_nothing(e) : 0;
}

/* If the struct stat at this address is that of a copy: changes its device and inode to those to be seen. */
static int tell_identity(pid_t pid, const struct launch_files *f, uint64_t at, struct err *e)
{
	uint64_t id[2];

	_Static_assert(!offsetof(struct stat, st_dev) && offsetof(struct stat, st_ino) == 8,
		       "the kernel's struct stat");
	if (copy_out(pid, at, id, sizeof(id)))
		return changed_nothing(e);
	for (unsigned i = 0; i < f->nshown; i++)
		if (f->shown[i].dev == id[0] && f->shown[i].ino == id[1])
			return copy_in(pid, at, &f->shown[i].shown_dev, sizeof(id)) ? changed_nothing(e) : 0;
	return 0;
}

/* The call has returned a path of n bytes below the folder: removes the folder, `removed` bytes. */
static int tell_path(pid_t pid, const struct launch_files *f, uint64_t at, uint64_t n, size_t *removed, struct err *e)
{
	size_t root = strlen(f->root);
	char path[PATH_MAX];

	*removed = 0;
	if (n > sizeof(path) || n <= root)
		return 0;
	if (copy_out(pid, at, path, n))
		return changed_nothing(e);
	if (memcmp(path, f->root, root) || path[root] != '/')
		return 0;
	*removed = root;
	memmove(path, path + root, n - root);
	memset(path + n - root, 0, root);
	return copy_in(pid, at, path, n) ? changed_nothing(e) : 0;
}

int files_tell(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, bool *changed, struct err *e)
{
	size_t removed = 0;

	switch (r->orig_rax) {
	case SYS_stat:
	case SYS_lstat:
	case SYS_fstat:
		return tell_identity(pid, f, r->rsi, e);
	case SYS_newfstatat:
		return tell_identity(pid, f, r->rdx, e);
	case SYS_readlink:
		if (tell_path(pid, f, r->rsi, r->rax, &removed, e))
			return -1;
		break;
	case SYS_readlinkat:
		if (tell_path(pid, f, r->rdx, r->rax, &removed, e))
			return -1;
		break;
	case SYS_getcwd:
		if (tell_path(pid, f, r->rdi, r->rax, &removed, e))
			return -1;
		break;
	}
	r->rax -= removed;
	*changed |= removed > 0;
	return 0;
}
