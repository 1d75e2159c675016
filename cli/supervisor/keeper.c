/* SPDX-License-Identifier: MIT */
/* keeper.c: see keeper.h. */
#include "supervisor/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "recfiles/running.h"
#include "rlog/keeper.h"
#include "supervisor/wait.h"

#define MOST 256 /* sockets: one listens in each network namespace, the others are connections */
#define CHUNK (64u << 10)

struct keeper {
	int dir;
	char *name; /* of the directory */
	uint64_t secret[2];
	nfds_t n;
	struct pollfd at[MOST];
	bool listens[MOST];
};

/* A request, and the data that follow it. */
struct request {
	struct keeper_req q;
	uint8_t data[KEEPER_DATA];
	size_t len; /* of data */
	int fd; /* a descriptor that came with it; -1: none */
};

static bool is_ours(const struct keeper *k, int fd)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	pid_t pid;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	for (pid = peer.pid; pid > 1; pid = wait_parent_of(pid))
		if (pid == getpid() || running_has_mapped(k->name, pid))
			return true;
	return false;
}

static int open_inside(int dir, const struct keeper_req *q)
{
	struct open_how how = {.flags = q->flags | O_CLOEXEC,
			       .mode = q->flags & O_CREAT ? q->mode : 0,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, dir, q->path, &how, sizeof(how));
}

static int open_by_name(const struct keeper *k, const struct keeper_req *q, int flags)
{
	struct keeper_req as = *q;

	as.flags = (uint32_t)flags;
	as.mode = 0600;
	return open_inside(k->dir, &as);
}

static int grow(const struct keeper *k, const struct keeper_req *q)
{
	cleanup_close int to = open_by_name(k, q, O_WRONLY);
	static const uint8_t zeros[CHUNK];
	struct stat st;
	uint64_t at;

	if (to < 0)
		return -1;
	if (fstat(to, &st))
		return -1;
	/* data that are there already are not overwritten */
	at = (uint64_t)st.st_size > q->off ? (uint64_t)st.st_size : q->off;
	if (at < q->end && fallocate(to, 0, (off_t)at, (off_t)(q->end - at)) && errno != EOPNOTSUPP)
		return -1;
	for (; at < q->end; at += CHUNK)
		if (pwrite_full(to, zeros, q->end - at < CHUNK ? q->end - at : CHUNK, (off_t)at))
			return -1;
	return 0;
}

static int put(const struct keeper *k, const struct request *r)
{
	bool append = r->q.op == KEEPER_APPEND;
	cleanup_close int to = open_by_name(k, &r->q, append ? O_WRONLY | O_CREAT | O_APPEND : O_WRONLY);

	if (to < 0)
		return -1;
	return append ? write_full(to, r->data, r->len) : pwrite_full(to, r->data, r->len, (off_t)r->q.off);
}

static int copy_part(int from, int to, uint64_t at, uint64_t end)
{
	uint8_t *room = xmalloc(CHUNK);
	ssize_t n = 1;
	int r = 0;

	for (; n > 0 && !r && at < end; at += (uint64_t)n) {
		n = pread(from, room, end - at < CHUNK ? end - at : CHUNK, (off_t)at);
		if (n > 0)
			r = pwrite_full(to, room, (size_t)n, (off_t)at);
	}
	free(room);
	return r || n < 0 ? -1 : 0;
}

/*
 * If the file can be opened once more, its holes are not read; looking for holes on the given descriptor would move
 * its position.
 */
static int copy(const struct keeper *k, const struct request *r)
{
	cleanup_free char *path = str_fmt("/proc/self/fd/%d", r->fd);
	cleanup_close int own = open(path, O_RDONLY | O_CLOEXEC), to = open_by_name(k, &r->q, O_WRONLY | O_CREAT);
	off_t at = (off_t)r->q.off, end = (off_t)r->q.end, hole;

	if (to < 0)
		return -1;
	if (own < 0)
		return copy_part(r->fd, to, r->q.off, r->q.end);
	for (; (at = lseek(own, at, SEEK_DATA)) >= 0 && at < end; at = hole) {
		hole = lseek(own, at, SEEK_HOLE);
		if (hole < 0 || copy_part(own, to, (uint64_t)at, (uint64_t)(hole < end ? hole : end)))
			return -1;
	}
	if (at < 0 && errno != ENXIO)
		return -1;
	at = lseek(own, 0, SEEK_END);
	hole = lseek(to, 0, SEEK_END);
	end = at < end ? at : end;
	return hole < end ? ftruncate(to, end) : 0;
}

static bool add(struct keeper *k, int fd, bool listens)
{
	if (k->n == MOST)
		return false;
	k->at[k->n] = (struct pollfd){.fd = fd, .events = POLLIN};
	k->listens[k->n] = listens;
	k->n++;
	return true;
}

static int listen_there(struct keeper *k, struct request *r)
{
	if (!add(k, r->fd, true)) {
		errno = EMFILE;
		return -1;
	}
	r->fd = -1;
	return 0;
}

/* 0 or -errno; *fd: a descriptor to be sent with the answer. */
static int perform(struct keeper *k, struct request *req, int *fd)
{
	struct keeper_req *q = &req->q;
	int r = -1;

	q->path[sizeof(q->path) - 1] = q->to[sizeof(q->to) - 1] = '\0';
	if (strstr(q->path, "..") || strstr(q->to, "..") || q->path[0] == '/' || q->to[0] == '/')
		return -EPERM;
	errno = EINVAL;
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
	case KEEPER_GROW:
		r = grow(k, q);
		break;
	case KEEPER_WRITE:
	case KEEPER_APPEND:
		r = put(k, req);
		break;
	case KEEPER_COPY:
		r = req->fd < 0 ? -1 : copy(k, req);
		break;
	case KEEPER_LISTEN:
		r = req->fd < 0 ? -1 : listen_there(k, req);
		break;
	}
	return r < 0 ? -errno : 0;
}

union one_fd {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

static void answer(const struct keeper *k, int sock, int32_t ret, int fd)
{
	struct keeper_answer a = {.ret = ret, .secret = {k->secret[0], k->secret[1]}};
	union one_fd u = {0};
	struct iovec iov = {&a, sizeof(a)};
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
		return; /* the requesting process is gone */
}

/* -1: it is no request, or the requesting process is gone. */
static int receive(int sock, struct request *r)
{
	union one_fd u;
	struct iovec iov[2] = {{&r->q, sizeof(r->q)}, {r->data, sizeof(r->data)}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2, .msg_control = u.room, .msg_controllen = sizeof(u.room)};
	ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c;

	r->fd = -1;
	if (n < (ssize_t)sizeof(r->q))
		return -1;
	r->len = (size_t)n - sizeof(r->q);
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&r->fd, CMSG_DATA(c), sizeof(r->fd));
	return 0;
}

static void serve_one(struct keeper *k, int sock)
{
	struct request *r = xmalloc(sizeof(*r));
	int fd = -1, ret;

	if (!receive(sock, r)) {
		ret = perform(k, r, &fd);
		answer(k, sock, ret, fd);
		if (r->fd >= 0)
			close(r->fd);
	}
	if (fd >= 0)
		close(fd);
	free(r);
}

static void take_connection(struct keeper *k, int from)
{
	int sock = accept4(from, NULL, NULL, SOCK_CLOEXEC);

	if (sock >= 0 && (!is_ours(k, sock) || !add(k, sock, false)))
		close(sock);
}

static void *serve(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		if (poll(k->at, k->n, -1) < 0 && errno != EINTR)
			return NULL;
		for (nfds_t i = k->n; i-- > 0;) {
			if (!k->at[i].revents)
				continue;
			if (k->listens[i]) {
				take_connection(k, k->at[i].fd);
				continue;
			}
			serve_one(k, k->at[i].fd);
			close(k->at[i].fd);
			k->n--;
			k->at[i] = k->at[k->n];
			k->listens[i] = k->listens[k->n];
			k->at[i].revents = 0; /* handled already, or new */
		}
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

struct keeper *keeper_new(const char *dir, const struct rlog_control *c, struct err *e)
{
	struct keeper *k = xmalloc(sizeof(*k));
	int sock;

	*k = (struct keeper){.name = xstrdup(dir), .secret = {c->secret[0], c->secret[1]}};
	k->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sock = k->dir < 0 ? err_errno(e, ERR_HOST, "%s", dir) : listen_at(dir, e);
	if (sock >= 0) {
		add(k, sock, true);
		return k;
	}
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

	/* signals are handled by the thread that waits for the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, serve, k);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = r;
	return r ? err_errno(e, ERR_HOST, "pthread_create") : 0;
}

void keeper_forget(struct keeper *k)
{
	if (!k)
		return;
	for (nfds_t i = 0; i < k->n; i++)
		close(k->at[i].fd);
	close(k->dir);
	free(k->name);
	free(k);
}
