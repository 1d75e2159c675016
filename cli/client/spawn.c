/* SPDX-License-Identifier: MIT */
/*
 * spawn.c: starts fredd. $FRED_HOME/fredd.start is locked from before the fork until it listens, so
 * that of two clients at once the second waits and then finds the daemon of the first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "client/client.h"
#include "client/paths.h"
#include "wire/addr.h"

char *spawn_build_id(void)
{
	struct err ignored;
	cleanup_free char *path = paths_own(PATHS_DAEMON, &ignored);
	struct stat st;

	if (!path || stat(path, &st))
		return NULL;
	return str_fmt("%llx-%llx%09lx", (unsigned long long)st.st_ino, (unsigned long long)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec);
}

static _Noreturn void become_daemon(const char *path, int ready)
{
	char fd[16], text[128];

	snprintf(fd, sizeof(fd), "%d", ready);
	fcntl(ready, F_SETFD, 0);
	unsetenv("FRED");
	unsetenv("LD_PRELOAD"); /* the user's preloads are not for the daemon */
	execl(path, path, "--ready-fd", fd, (char *)NULL);
	snprintf(text, sizeof(text), "exec: %s", strerror(errno));
	_exit(write_full(ready, text, strlen(text)) ? 71 : 70);
}

/* Reads what the daemon says about its start. */
static int wait_ready(int fd, struct err *e)
{
	cleanup_buf struct buf b = {0};

	if (read_fd(fd, &b, e))
		return -1;
	if (str_eq(buf_str(&b), "ok\n"))
		return 0;
	return err_set(e, ERR_HOST, "%s; see fredd.log", b.len ? buf_str(&b) : "it ended while starting");
}

static int spawn(struct err *e)
{
	cleanup_free char *path = paths_own(PATHS_DAEMON, e);
	cleanup_close int rd = -1, wr = -1;
	int p[2], r;
	pid_t pid;

	if (!path)
		return -1;
	if (pipe2(p, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	rd = p[0];
	wr = p[1];
	pid = fork();
	if (pid < 0)
		return err_fork(e, "fork");
	if (pid == 0)
		become_daemon(path, wr);
	close(steal_fd(&wr));
	r = wait_ready(rd, e);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r ? err_wrap(e, "%s", path) : 0;
}

int spawn_connect(const char *home, struct err *e)
{
	cleanup_free char *path = path_join(home, "fredd.start");
	cleanup_close int lock = -1;
	struct wire_addr addr;
	int fd;

	if (wire_addr_init(&addr, home, e))
		return -1;
	fd = wire_connect(&addr, e);
	if (fd != -2)
		return fd;
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	while (flock(lock, LOCK_EX))
		if (errno != EINTR)
			return err_errno(e, ERR_HOST, "%s", path);
	fd = wire_connect(&addr, e);
	if (fd != -2)
		return fd;
	if (spawn(e))
		return err_wrap(e, "cannot start the daemon");
	fd = wire_connect(&addr, e);
	return fd == -2 ? err_set(e, ERR_INTERNAL, "the daemon ended right after it started") : fd;
}
