/* SPDX-License-Identifier: MIT */
/*
 * keeper.c: the recording's files, also for a process that has dropped its rights to them: `fredctl record` then opens
 * or writes them for it (rlog/keeper.h). It also helps a process that has as many descriptors open as it may: a
 * program that leaks descriptors is worth recording.
 *
 * The recording's path may lead elsewhere for this process than for `fredctl record`: it may have another root, or an
 * overlay, into which the logs would go. So a path is used only while it leads to the recording's own folder.
 */
#include "record/store/keeper.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/util.h"
#include "rlog/keeper.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static int lost_rights(long err)
{
	switch (-err) {
	case EACCES:
	case ENOENT:
	case EPERM:
	case EROFS:
	case ENOTDIR:
	case ELOOP:
	case EDQUOT:
	case ESTALE:
		return 1;
	}
	return 0;
}

#define NOT_HERE (-(long)ENOENT)

/*
 * Does the recording's path still lead to its folder? An image that has no control page yet checks the page itself
 * (init.c).
 */
static int is_here(void)
{
	uint64_t st[18]; /* struct stat: device, inode */

	if (!G.control)
		return 1;
	return raw2(SYS_stat, G.rec, st) == 0 && st[0] == G.control->dir[0] && st[1] == G.control->dir[1];
}

/* The part of path below the recording's folder, or 0. */
static const char *relative(const char *path)
{
	size_t n = strlen(G.rec);

	return !strncmp(path, G.rec, n) && path[n] == '/' ? path + n + 1 : 0;
}

/*
 * May the listening process see what is recorded? It proves that by the secret of the control page. An image that has
 * no control page yet checks the peer's user ID instead: it must be root, our own, or one that has no number in our
 * user namespace.
 */
#define OVERFLOW_UID 65534u
static int trusted(int fd, const struct keeper_answer *a)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (G.control)
		return a->secret[0] == G.control->secret[0] && a->secret[1] == G.control->secret[1];
	if (raw6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&len, 0) < 0)
		return 0;
	return peer.uid == 0 || peer.uid == OVERFLOW_UID || peer.uid == (uid_t)raw0(SYS_getuid);
}

struct question {
	struct keeper_req q;
	const void *data; /* sent after the request */
	size_t len;
	int fd; /* sent with the request; -1: none */
};

union one_fd {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

static long send_question(int to, const struct question *w)
{
	union one_fd u = {0};
	struct iovec iov[2] = {{(void *)&w->q, sizeof(w->q)}, {(void *)w->data, w->len}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = w->len ? 2 : 1};
	long n;

	if (w->fd >= 0) {
		m.msg_control = u.room;
		m.msg_controllen = sizeof(u.room);
		u.align.cmsg_level = SOL_SOCKET;
		u.align.cmsg_type = SCM_RIGHTS;
		u.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.align), &w->fd, sizeof(int));
	}
	do
		n = raw3(SYS_sendmsg, to, &m, MSG_NOSIGNAL);
	while (n == -EINTR);
	return n;
}

static long receive(int fd)
{
	union one_fd u;
	struct keeper_answer a = {.ret = -EIO};
	struct iovec iov = {&a, sizeof(a)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.room, .msg_controllen = sizeof(u.room)};
	struct cmsghdr *c;
	int got = -1;
	long n;

	do
		n = raw3(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	if (n != sizeof(a))
		return n < 0 ? n : -EIO;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	if (trusted(fd, &a))
		return a.ret == 0 && got >= 0 ? got : a.ret;
	if (got >= 0)
		raw_close(got);
	return -EACCES;
}

static int name_socket(long (*fn)(int fd, const struct sockaddr_un *at, long len))
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = (int)raw3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	long r;

	if (fd < 0)
		return fd;
	keeper_name(at.sun_path, G.rec);
	r = fn(fd, &at, sizeof(at.sun_family) + KEEPER_NAME_LEN);
	if (r == 0)
		return fd;
	raw_close(fd);
	return (int)r;
}

static long do_connect(int fd, const struct sockaddr_un *at, long len)
{
	long r;

	do
		r = raw3(SYS_connect, fd, at, len);
	while (r == -EINTR);
	return r;
}

static long do_listen(int fd, const struct sockaddr_un *at, long len)
{
	long r = raw3(SYS_bind, fd, at, len);

	return r ? r : raw2(SYS_listen, fd, 64);
}

static long ask_over(int fd, const struct question *w)
{
	long ret = send_question(fd, w);

	return ret < 0 ? ret : receive(fd);
}

static long exchange(void *question)
{
	const struct question *w = question;
	int fd = name_socket(do_connect);
	long ret;

	if (fd < 0)
		return fd;
	ret = ask_over(fd, w);
	raw_close(fd);
	return ret;
}

static long ask(struct question *w, const char *path, const char *to)
{

	if (!path || strlen(path) >= sizeof(w->q.path) || (to && strlen(to) >= sizeof(w->q.to)))
		return -EACCES;
	fmt_str(w->q.path, w->q.path + sizeof(w->q.path), path);
	if (to)
		fmt_str(w->q.to, w->q.to + sizeof(w->q.to), to);
	/* the answer brings a descriptor, for which the caller makes room in this process (keep_with_room) */
	return w->q.op == KEEPER_OPEN ? exchange(w) : keep_with_room(exchange, w, w->fd);
}

/* ---- another network namespace ---- */

int keep_connect(void)
{
	return G.mode == SHIM_RECORD ? name_socket(do_connect) : -1;
}

void keep_follow(int fd, int moved)
{
	struct question w = {.q.op = KEEPER_LISTEN, .fd = -1};

	if (fd < 0)
		return;
	if (moved && (w.fd = name_socket(do_listen)) >= 0) { /* else another process listens there already */
		ask_over(fd, &w);
		raw_close(w.fd);
	}
	raw_close(fd);
}

int keep_reaches(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);
	int fd;

	fmt_str(p, path + sizeof(path), "/control");
	fd = keep_open(path, O_RDWR, 0);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE; /* the caller is to see this error */
	raw_close(fd);
	return 1;
}

/* ---- files ---- */

int keep_open_asked(const char *path, int flags)
{
	struct question w = {.q = {.op = KEEPER_OPEN, .flags = (uint32_t)flags}, .fd = -1};

	return (int)ask(&w, relative(path), 0);
}

/* Gives the owner those of the wanted permissions that the program's umask has removed. The others stay as they are. */
static void give_owner(int fd, int mode)
{
	uint64_t st[18]; /* struct stat: device, inode, links, mode (32 bits) */

	if (raw2(SYS_fstat, fd, st) == 0 && (~st[3] & (uint64_t)mode & 0700))
		raw2(SYS_fchmod, fd, (int)(st[3] & 07777) | (mode & 0700));
}

int keep_open(const char *path, int flags, int mode)
{
	struct question w = {.q = {.op = KEEPER_OPEN, .flags = (uint32_t)flags, .mode = (uint32_t)mode}, .fd = -1};
	long r = is_here() ? raw_open(path, flags, mode) : NOT_HERE, asked;

	if (r >= 0 && (flags & O_CREAT))
		give_owner((int)r, mode);
	if (!lost_rights(r))
		return (int)r;
	asked = ask(&w, relative(path), 0);
	/* -EMFILE: the caller can try again with room for a descriptor */
	return (int)(asked >= 0 || asked == -EMFILE ? asked : r);
}

static long or_ask(long r, enum keeper_op op, const char *path, const char *to, int mode)
{
	struct question w = {.q = {.op = op, .mode = (uint32_t)mode}, .fd = -1};
	long asked;

	if (!lost_rights(r))
		return r;
	asked = ask(&w, relative(path), to ? relative(to) : 0);
	return asked >= 0 ? asked : r;
}

long keep_mkdir(const char *path, int mode)
{
	long r = is_here() ? raw2(SYS_mkdir, path, mode) : NOT_HERE;

	if (r == 0)
		raw2(SYS_chmod, path, mode); /* as keep_open */
	return or_ask(r, KEEPER_MKDIR, path, 0, mode);
}

long keep_rename(const char *path, const char *to)
{
	return or_ask(is_here() ? raw2(SYS_rename, path, to) : NOT_HERE, KEEPER_RENAME, path, to, 0);
}

void keep_unlink(const char *path)
{
	or_ask(is_here() ? raw1(SYS_unlink, path) : NOT_HERE, KEEPER_UNLINK, path, 0, 0);
}

long keep_link(const char *path, const char *to)
{
	return is_here() ? raw2(SYS_link, path, to) : NOT_HERE;
}

int keep_exists(const char *path)
{
	long r = is_here() ? raw2(SYS_access, path, 0) : NOT_HERE;

	if (lost_rights(r) && (!is_here() || raw2(SYS_access, G.rec, 1 /* X_OK */) < 0))
		r = or_ask(r, KEEPER_ACCESS, path, 0, 0);
	return r == 0;
}

/* ---- writes beyond the process's limit on file sizes ---- */

/* Would a write at `end` or beyond raise SIGXFSZ? */
int keep_limited(uint64_t end)
{
	uint64_t limit[2]; /* struct rlimit: RLIM_INFINITY is the highest number */

	return raw4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, limit) == 0 && limit[0] < end;
}

long keep_grow(const char *path, uint64_t off, uint64_t end)
{
	struct question w = {.q = {.op = KEEPER_GROW, .off = off, .end = end}, .fd = -1};

	return ask(&w, relative(path), 0);
}

long keep_write(const char *path, int fd, const void *p, size_t n, uint64_t off)
{
	struct question w = {.q = {.op = KEEPER_WRITE, .off = off}, .data = p, .len = n, .fd = -1};

	return keep_limited(off + n) ? ask(&w, relative(path), 0) : raw4(SYS_pwrite64, fd, p, n, off);
}

struct append {
	const char *path;
	const uint8_t *p;
	size_t n;
};

static long append_here(void *arg)
{
	const struct append *a = arg;
	int fd = keep_open(a->path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	long r = fd < 0 ? fd : 0;

	for (size_t at = 0; fd >= 0 && at < a->n; at += (size_t)r)
		if ((r = raw3(SYS_write, fd, a->p + at, a->n - at)) <= 0)
			break;
	if (fd >= 0)
		raw_close(fd);
	return r < 0 ? r : 0;
}

#define SHORT_FILE (1ull << 30) /* files that are appended to are shorter */

long keep_append(const char *path, const void *p, size_t n)
{
	struct question w = {.q.op = KEEPER_APPEND, .fd = -1};
	struct append here = {path, p, n};
	long r = 0;

	if (!keep_limited(SHORT_FILE))
		return keep_with_room(append_here, &here, -1);
	for (size_t at = 0; at < n && r >= 0; at += w.len) {
		w.data = (const uint8_t *)p + at;
		w.len = n - at < KEEPER_DATA ? n - at : KEEPER_DATA;
		r = ask(&w, relative(path), 0);
	}
	return r;
}

long keep_copy(const char *path, int from, uint64_t off, uint64_t end)
{
	struct question w = {.q = {.op = KEEPER_COPY, .off = off, .end = end}, .fd = from};

	return ask(&w, relative(path), 0);
}

/* ---- in a process with descriptors of its own ---- */

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

	if (G.children_ns) /* the new process would be the first one of the new namespace */
		return -11;
	stack = raw_mmap(0, APART_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(stack))
		return (long)stack;
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8); /* handlers are to run in this process only */
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

/* Raises the limit that the program has lowered (limits.c), in a process that ends soon. */
static void raise_limit(void)
{
	uint64_t limit[2];

	if (raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, limit) || limit[0] >= limit[1])
		return;
	limit[0] = limit[1];
	raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, 0);
}

/*
 * Closes copies of the program's first descriptors. This releases no lock and ends no connection, since the program
 * still has its own.
 */
static long make_room(void *arg)
{
	const struct roomy *r = arg;

	for (int fd = 0; fd < 4; fd++)
		if (fd != r->but)
			raw_close(fd);
	raise_limit();
	return r->fn(r->arg);
}

/* If no process can be made: calls fn here, with the limit raised meanwhile. */
static long with_limit(const struct roomy *r)
{
	uint64_t limit[2], more[2];
	long ret;

	if (raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, limit) || limit[0] >= limit[1])
		return -EMFILE;
	more[0] = more[1] = limit[1];
	raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, more, 0);
	ret = r->fn(r->arg);
	raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, 0);
	return ret;
}

long keep_with_room(long (*fn)(void *), void *arg, int but)
{
	struct roomy r = {fn, arg, but};
	long ret = fn(arg);

	if (ret != -EMFILE)
		return ret;
	ret = apart(make_room, &r);
	return ret == -EAGAIN ? with_limit(&r) : ret;
}
