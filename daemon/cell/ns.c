/* SPDX-License-Identifier: MIT */
/*
 * ns.c: mounts and network of a cell. The order matters: mounts become private before the first
 * mount; what stays visible of the old /run is opened before the tmpfs covers it.
 */
#include "cell/ns.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <net/if.h>
#include <netlink/route/link.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"
#include "launch/launch.h"

/* Folders that may hold recordings: session directories and removable disks. */
static const char *const kept[] = {"/run/user", "/run/media"};
enum { KEPT = sizeof(kept) / sizeof(kept[0]) };

/* A detached copy of a mount tree, or -1 when there is none. */
static int clone_tree(const char *path)
{
	return open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

static int mount_run(struct err *e)
{
	int tree[KEPT];
	int r = 0;

	for (int i = 0; i < KEPT; i++)
		tree[i] = clone_tree(kept[i]);
	if (mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") || mkdir(CELL_RUN_DIR, 0700))
		r = err_errno(e, ERR_HOST, "cannot mount a tmpfs on /run");
	for (int i = 0; i < KEPT; i++) {
		if (tree[i] < 0)
			continue;
		if (!r && (mkdir(kept[i], 0755) || move_mount(tree[i], "", AT_FDCWD, kept[i], MOVE_MOUNT_F_EMPTY_PATH)))
			r = err_errno(e, ERR_HOST, "cannot keep %s", kept[i]);
		close(tree[i]);
	}
	return r;
}

static int mounts(struct err *e)
{
	if (ns_root_private(e))
		return -1;
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return err_errno(
			e, ERR_HOST,
			"cannot mount /proc, as where another /proc is masked (in a container, type: " LAUNCH_CONTAINER
			")");
	return mount_run(e);
}

/* CRIU probes the kernel's network features and fails while `lo` is down. */
static int lo_up(struct err *e)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct rtnl_link *lo = NULL, *change = rtnl_link_alloc();
	int r = sock && change ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;

	if (!r)
		r = rtnl_link_get_kernel(sock, 0, "lo", &lo);
	if (!r) {
		rtnl_link_set_flags(change, IFF_UP);
		r = rtnl_link_change(sock, lo, change, 0);
	}
	if (r)
		err_set(e, ERR_HOST, "cannot bring the interface lo up: %s", nl_geterror(r));
	rtnl_link_put(lo);
	rtnl_link_put(change);
	nl_socket_free(sock);
	return r ? -1 : 0;
}

int ns_enter(struct err *e)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC))
		return err_errno(e, ERR_HOST, "cannot make mount, net and ipc namespaces");
	return mounts(e) || lo_up(e) ? -1 : 0;
}
