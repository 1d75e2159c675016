/* SPDX-License-Identifier: MIT */
/* init.c: what the PID 1 of a cell needs: reaping, bind mounts, the choice of PIDs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "cell/cell.h"

int cell_wait_pid(pid_t pid, int *status, struct err *e)
{
	pid_t r;

	do
		r = waitpid(pid, status, __WALL);
	while (r < 0 && errno == EINTR);
	return r == pid ? 0 : err_errno(e, ERR_INTERNAL, "waiting for process %d", pid);
}

static int is_kept(pid_t pid, const pid_t *keep, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (keep[i] == pid)
			return 1;
	return 0;
}

int cell_reap_except(const pid_t *keep, size_t n)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	int reaped = 0;
	char *p, *end;

	if (read_file("/proc/thread-self/children", &b, &ignored))
		return 0;
	for (p = b.data; p; p = end) {
		pid_t pid = (pid_t)strtol(p, &end, 10);

		if (end == p)
			break;
		if (!is_kept(pid, keep, n) && waitpid(pid, NULL, WNOHANG | __WALL) == pid)
			reaped++;
	}
	return reaped;
}

void cell_free_pid(pid_t pid)
{
	int status;
	pid_t r;

	if (pid <= 1 || !kill(pid, 0) || errno != ESRCH || kill(-pid, SIGKILL))
		return;
	while ((r = waitpid(-pid, &status, __WALL)) > 0 || (r < 0 && errno == EINTR))
		if (r > 0 && WIFSTOPPED(status)) /* it is traced and has stopped once more before its end */
			ptrace(PTRACE_CONT, r, 0, 0);
}

static int make_target(const char *src, const char *dst)
{
	struct stat st, there;
	int fd;

	if (stat(src, &st))
		return -1;
	if (S_ISDIR(st.st_mode))
		return mkdir(dst, 0700) && errno != EEXIST ? -1 : 0;
	/* the mount point may be on a read-only mount, which another target of this cell has just made */
	if (!stat(dst, &there))
		return 0;
	fd = open(dst, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : close(fd);
}

int cell_mount_bind(const char *src, const char *dst, int read_only, struct err *e)
{
	struct mount_attr ro = {.attr_set = MOUNT_ATTR_RDONLY};

	if (make_target(src, dst) || mount(src, dst, NULL, MS_BIND, NULL))
		return err_errno(e, ERR_HOST, "cannot mount %s on %s", src, dst);
	/* Not by mount(2), which sets all flags: a user namespace may not clear nosuid, nodev and noexec. */
	if (read_only && mount_setattr(AT_FDCWD, dst, 0, &ro, sizeof(ro)))
		return err_errno(e, ERR_HOST, "cannot make %s read-only", dst);
	return 0;
}

int cell_set_last_pid(pid_t n, struct err *e)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);
	cleanup_close int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write_full(fd, text, (size_t)len))
		return err_errno(e, ERR_HOST, "cannot choose a PID (ns_last_pid)");
	return 0;
}
