/* SPDX-License-Identifier: MIT */
/*
 * keeper.c: the recording's files, also for a process that has given up its rights to them: what fails for
 * that reason is asked of the recording client. See rlog/keeper.h. And for one that has as many descriptors open as it
 * may: a program that leaks them is what somebody wants to know about.
 */
#include "record/shim.h"

#include "rlog/keeper.h"

#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int lost_rights(long err)
{
	return err == -13 /* EACCES */ || err == -2 /* ENOENT */ || err == -1 /* EPERM */;
}

/* path in the recording, or 0 */
static const char *relative(const char *path)
{
	size_t n = strlen(G.rec);

	return !strncmp(path, G.rec, n) && path[n] == '/' ? path + n + 1 : 0;
}

/* Is the one who listens allowed to know what we record? */
static int trusted(int fd)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (raw6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&len, 0) < 0)
		return 0;
	return peer.uid == 0 || peer.uid == (uid_t)raw0(SYS_getuid);
}

static long receive(int fd)
{
	char room[CMSG_SPACE(sizeof(int))];
	int32_t ret = -5;
	struct iovec iov = {&ret, sizeof(ret)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	long n;
	int got;

	do
		n = raw3(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (n == -4);
	if (n != sizeof(ret))
		return n < 0 ? n : -5;
	c = CMSG_FIRSTHDR(&m);
	if (ret == 0 && c && c->cmsg_type == SCM_RIGHTS) {
		memcpy(&got, CMSG_DATA(c), sizeof(got));
		return got;
	}
	return ret;
}

static long ask(enum keeper_op op, const char *path, const char *to, int flags, int mode)
{
	struct keeper_req q = {.op = op, .flags = (uint32_t)flags, .mode = (uint32_t)mode};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	long ret;
	int fd;

	if (!path || strlen(path) >= sizeof(q.path) || (to && strlen(to) >= sizeof(q.to)))
		return -13;
	fmt_str(q.path, q.path + sizeof(q.path), path);
	if (to)
		fmt_str(q.to, q.to + sizeof(q.to), to);
	fd = (int)raw3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	keeper_name(at.sun_path, G.rec);
	ret = raw3(SYS_connect, fd, &at, sizeof(at.sun_family) + KEEPER_NAME_LEN);
	if (ret == 0 && !trusted(fd))
		ret = -13;
	if (ret == 0)
		ret = raw6(SYS_sendto, fd, (long)&q, sizeof(q), MSG_NOSIGNAL, 0, 0);
	if (ret >= 0)
		ret = receive(fd);
	raw_close(fd);
	return ret;
}

int keep_open(const char *path, int flags, int mode)
{
	long r = raw_open(path, flags, mode), asked;

	if (!lost_rights(r))
		return (int)r;
	asked = ask(KEEPER_OPEN, relative(path), 0, flags, mode);
	return (int)(asked >= 0 ? asked : r);
}

static long or_ask(long r, enum keeper_op op, const char *path, const char *to, int mode)
{
	long asked;

	if (!lost_rights(r))
		return r;
	asked = ask(op, relative(path), to ? relative(to) : 0, 0, mode);
	return asked >= 0 ? asked : r;
}

long keep_mkdir(const char *path, int mode)
{
	return or_ask(raw2(SYS_mkdir, path, mode), KEEPER_MKDIR, path, 0, mode);
}

long keep_rename(const char *path, const char *to)
{
	return or_ask(raw2(SYS_rename, path, to), KEEPER_RENAME, path, to, 0);
}

void keep_unlink(const char *path)
{
	or_ask(raw1(SYS_unlink, path), KEEPER_UNLINK, path, 0, 0);
}

int keep_exists(const char *path)
{
	long r = raw2(SYS_access, path, 0);

	if (lost_rights(r) && raw2(SYS_access, G.rec, 1 /* X_OK */) < 0)
		r = or_ask(r, KEEPER_ACCESS, path, 0, 0);
	return r == 0;
}

/* ---- with other descriptors ---- */

#define APART_STACK 32768ul

struct apart {
	long (*fn)(void *);
	void *arg;
	long ret;
};

static int run_apart(void *arg)
{
	struct apart *a = arg;

	a->ret = a->fn(a->arg);
	return 0;
}

long apart(long (*fn)(void *), void *arg)
{
	struct apart a = {fn, arg, -11 /* EAGAIN */};
	uint64_t all = ~0ull, old;
	uint8_t *stack;
	int status = 0;
	long pid, r;

	if (G.children_ns) /* it would be the first process of the new namespace */
		return -11;
	stack = raw_mmap(0, APART_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(stack))
		return (long)stack;
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8); /* handlers are this process's business */
	pid = clone_fn(CLONE_VM, stack + APART_STACK, run_apart, &a, 0);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
	do
		r = pid < 0 ? pid : raw4(SYS_wait4, pid, &status, 0x40000000 /* __WALL */, 0);
	while (r == -4 /* EINTR */);
	raw2(SYS_munmap, stack, APART_STACK);
	return pid < 0 ? pid : a.ret;
}

struct roomy {
	long (*fn)(void *);
	void *arg;
	int but;
};

/* Its first descriptors are not the program's: no lock goes, and nobody is told that a connection ends. */
static long make_room(void *arg)
{
	const struct roomy *r = arg;

	for (int fd = 0; fd < 4; fd++)
		if (fd != r->but)
			raw_close(fd);
	return r->fn(r->arg);
}

long keep_with_room(long (*fn)(void *), void *arg, int but)
{
	struct roomy r = {fn, arg, but};
	long ret = fn(arg);

	return ret == -24 /* EMFILE */ ? apart(make_room, &r) : ret;
}
