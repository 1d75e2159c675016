/* SPDX-License-Identifier: MIT */
/*
 * addr.c: the daemon's socket. Only its user may talk to it: the directory is 0700, the socket 0600, and
 * both ends ask the kernel who the other is (unix(7), SO_PEERCRED).
 */
#include "wire/addr.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"

#define BACKLOG 64

/* FNV-1a, to give long paths a short name. */
static uint64_t hash_path(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3ull;
	return h;
}

/* Checks that dir is a folder, not a link, that belongs to this user, and that nobody else can enter. */
static int check_private(const char *dir, struct err *e)
{
	struct stat st;

	if (lstat(dir, &st))
		return err_errno(e, ERR_HOST, "%s", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return err_set(e, ERR_HOST, "%s: not a directory of this user", dir);
	if (st.st_mode & 022)
		return err_set(e, ERR_HOST, "%s: others may write to it (mode %03o)", dir, st.st_mode & 0777);
	return 0;
}

static int set_path(struct wire_addr *a, const char *dir, const char *name)
{
	int n;

	memset(a, 0, sizeof(*a));
	a->sa.sun_family = AF_UNIX;
	n = snprintf(a->sa.sun_path, sizeof(a->sa.sun_path), "%s/%s", dir, name);
	a->len = sizeof(a->sa);
	return n >= 0 && (size_t)n < sizeof(a->sa.sun_path) ? 0 : -1;
}

/*
 * The user's ID outside of the caller's user namespace (user_namespaces(7), "Defining user and group ID mappings"):
 * inside, anybody can be user 0.
 */
static unsigned outer_uid(void)
{
	cleanup_buf struct buf b = {0};
	unsigned uid = geteuid(), inside, outside, count;
	struct err ignored;
	const char *p;

	if (!read_file("/proc/self/uid_map", &b, &ignored))
		for (p = buf_str(&b); p && sscanf(p, "%u %u %u", &inside, &outside, &count) == 3;
		     p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
			if (uid >= inside && uid - inside < count)
				return outside + (uid - inside);
	return uid;
}

static int init_short(struct wire_addr *a, const char *home, struct err *e)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char dir[64], name[48];
	struct err ignored;

	snprintf(name, sizeof(name), "fredd-%016llx.sock", (unsigned long long)hash_path(home));
	if (run && *run == '/' && !check_private(run, &ignored) && !set_path(a, run, name))
		return 0;
	snprintf(dir, sizeof(dir), "/tmp/fred-%u", outer_uid());
	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_errno(e, ERR_HOST, "%s", dir);
	if (check_private(dir, e))
		return err_wrap(e, "FRED_HOME is too long for a socket's address");
	return set_path(a, dir, name) ? err_set(e, ERR_HOST, "%s: path too long", dir) : 0;
}

int wire_addr_init(struct wire_addr *a, const char *home, struct err *e)
{
	if (check_private(home, e))
		return -1;
	return set_path(a, home, "fredd.sock") ? init_short(a, home, e) : 0;
}

int wire_listen(const struct wire_addr *a, struct err *e)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *path = a->sa.sun_path;
	mode_t mask;
	int r;

	if (fd < 0)
		return err_errno(e, ERR_HOST, "socket");
	if (unlink(path) && errno != ENOENT)
		return err_errno(e, ERR_HOST, "%s: cannot replace", path);
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&a->sa, a->len);
	umask(mask);
	if (r)
		return err_errno(e, ERR_HOST, "%s: bind", path);
	if (listen(fd, BACKLOG))
		return err_errno(e, ERR_HOST, "%s: listen", path);
	return steal_fd(&fd);
}

int wire_connect(const struct wire_addr *a, struct err *e)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, ERR_HOST, "socket");
	while (connect(fd, (const struct sockaddr *)&a->sa, a->len)) {
		if (errno == EINTR)
			continue;
		if (errno == ENOENT || errno == ECONNREFUSED)
			return -2;
		return err_errno(e, ERR_HOST, "%s", a->sa.sun_path);
	}
	if (wire_peer_check(fd, e))
		return err_wrap(e, "%s", a->sa.sun_path);
	return steal_fd(&fd);
}

int wire_peer_check(int fd, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return err_errno(e, ERR_HOST, "SO_PEERCRED");
	if (peer.uid != geteuid())
		return err_set(e, ERR_HOST, "the other end runs as user %u, not %u", peer.uid, geteuid());
	return 0;
}
