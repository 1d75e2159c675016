/* SPDX-License-Identifier: MIT */
/*
 * userns.c: see userns.h. The maps are written by the process itself, which may map its own user and group only, and
 * the group only after it has given up setgroups(2) (user_namespaces(7), "Defining user and group ID mappings").
 */
#include "cell/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "launch/launch.h"
#include "launch/namespaces.h"

bool userns_has_admin(void)
{
	return caps_effective() >> CAP_BIT_SYS_ADMIN & 1;
}

bool userns_is_own(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	unsigned long long inside, outside, count;

	return !read_file("/proc/self/uid_map", &b, &ignored) &&
	       sscanf(buf_str(&b), "%llu %llu %llu", &inside, &outside, &count) == 3 && count == 1;
}

static int write_proc(const char *path, const char *text, struct err *e)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write_full(fd, text, strlen(text)) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

int userns_refused(int error, struct err *e)
{
	const char *type = namespaces_setting();

	if (type)
		return err_set(
			e, ERR_HOST,
			"neither CAP_SYS_ADMIN nor user namespaces: %s (type as root: %s; or run fredctl as root)",
			strerror(error), type);
	return err_set(
		e, ERR_HOST,
		"neither CAP_SYS_ADMIN nor user namespaces: %s: programs are recorded here, and replayed elsewhere (in "
		"a container, type: " LAUNCH_CONTAINER "; on a host, run fredctl as root)",
		strerror(error));
}

int userns_enter(struct err *e)
{
	unsigned uid = geteuid();
	cleanup_free char *uids = str_fmt("0 %u 1\n", uid), *gids = str_fmt("0 %u 1\n", getegid());

	if (userns_has_admin())
		return 0;
	if (unshare(CLONE_NEWUSER))
		return userns_refused(errno, e);
	/* AppArmor on Ubuntu 24.04 lets the namespace be made and refuses what is done in it. */
	if (!userns_has_admin())
		return userns_refused(EPERM, e);
	if (write_proc("/proc/self/setgroups", "deny", e) || write_proc("/proc/self/uid_map", uids, e) ||
	    write_proc("/proc/self/gid_map", gids, e))
		return err_wrap(e, "cannot map user %u in a user namespace", uid);
	return 0;
}
