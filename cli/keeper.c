/* SPDX-License-Identifier: MIT */
/* keeper.c: see keeper.h. */
#include "cli/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/record.h"
#include "rlog/keeper.h"
#include "cli/wait.h"

struct keeper {
	int sock, dir;
	char *name; /* of the directory */
};

static bool is_ours(const struct keeper *k, int fd)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	pid_t pid;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	for (pid = peer.pid; pid > 1; pid = wait_parent_of(pid))
		if (pid == getpid() || record_maps(k->name, pid))
			return true;
	return false;
}

static int open_inside(int dir, const struct keeper_req *q)
{
	struct open_how how = {.flags = q->flags | O_CLOEXEC, .mode = q->flags & O_CREAT ? q->mode : 0,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, dir, q->path, &how, sizeof(how));
}

/* 0 or -errno; *fd: what the answer carries. */
static int perform(const struct keeper *k, struct keeper_req *q, int *fd)
{
	int r = -1;

	q->path[sizeof(q->path) - 1] = q->to[sizeof(q->to) - 1] = '\0';
	if (strstr(q->path, "..") || strstr(q->to, "..") || q->path[0] == '/' || q->to[0] == '/')
		return -EPERM;
	switch (q->op) {
	case KEEPER_OPEN:
		r = *fd = open_inside(k->dir, q);
		break;
	case KEEPER_MKDIR:
		r = mkdirat(k->dir, q->path, (mode_t)q->mode & 0700);
		break;
	case KEEPER_RENAME:
		r = renameat(k->dir, q->path, k->dir, q->to);
		break;
	case KEEPER_UNLINK:
		r = unlinkat(k->dir, q->path, 0);
		break;
	case KEEPER_ACCESS:
		r = faccessat(k->dir, q->path, F_OK, 0);
		break;
	default:
		errno = EINVAL;
	}
	return r < 0 ? -errno : 0;
}

static void answer(int sock, int32_t ret, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	struct iovec iov = {&ret, sizeof(ret)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c = &u.align;

	if (fd >= 0) {
		m.msg_control = u.room;
		m.msg_controllen = sizeof(u.room);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		return; /* who asked is gone */
}

static void serve_one(const struct keeper *k, int sock)
{
	struct timeval limit = {.tv_sec = 1};
	cleanup_close int fd = -1;
	struct keeper_req q;
	int ret;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!is_ours(k, sock) || recv(sock, &q, sizeof(q), 0) != sizeof(q))
		return;
	ret = perform(k, &q, &fd);
	answer(sock, ret, fd);
}

static void *serve(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		cleanup_close int sock = accept4(k->sock, NULL, NULL, SOCK_CLOEXEC);

		if (sock >= 0)
			serve_one(k, sock);
		else if (errno != EINTR && errno != ECONNABORTED)
			return NULL;
	}
}

static int listen_at(const char *dir, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	cleanup_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ret = fd;

	keeper_name(at.sun_path, dir);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + KEEPER_NAME_LEN)) ||
	    listen(fd, 64))
		return err_errno(e, ERR_HOST, "%s: a socket for the recorded processes", dir);
	fd = -1;
	return ret;
}

struct keeper *keeper_new(const char *dir, struct err *e)
{
	struct keeper *k = xmalloc(sizeof(*k));

	k->name = xstrdup(dir);
	k->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	k->sock = k->dir < 0 ? err_errno(e, ERR_HOST, "%s", dir) : listen_at(dir, e);
	if (k->sock >= 0)
		return k;
	close(k->dir);
	free(k->name);
	free(k);
	return NULL;
}

int keeper_serve(struct keeper *k, struct err *e)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	/* signals are for the thread that waits for the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, serve, k);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = r;
	return r ? err_errno(e, ERR_HOST, "pthread_create") : 0;
}
