/* SPDX-License-Identifier: MIT */
/*
 * root.c: "/" as a private mount of a new mount namespace.
 *
 * A chroot's "/" is a folder in a mount and no mount itself: mount(2) then refuses to make "/" private, and CRIU finds
 * no root among the mounts of /proc/self/mountinfo. In that case the process first returns to the namespace's own root
 * by setns(2); then the chroot's folder is bound to itself, and becomes the root. What lay above it is not visible in
 * the cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/ns.h"

static int make_private(void)
{
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int leave_chroot(void)
{
	cleanup_close int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return ns < 0 ? -1 : setns(ns, CLONE_NEWNS);
}

/* Binds the folder to itself, with what is mounted below it, and makes that the root. */
static int pivot_to(int folder)
{
	cleanup_close int tree =
		open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);

	if (tree < 0 || move_mount(tree, "", folder, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		return -1;
	/* pivot_root(2), "pivot_root(".", ".")": the old root lies on top of the new one. */
	if (fchdir(tree) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH))
		return -1;
	return chdir("/");
}

int ns_root_private(struct err *e)
{
	cleanup_close int folder = -1;

	if (!make_private())
		return 0;
	if (errno != EINVAL)
		return err_errno(e, ERR_HOST, "cannot make the mounts private");
	folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || leave_chroot() || make_private() || pivot_to(folder))
		return err_errno(e, ERR_HOST, "cannot make this chroot's / a mount");
	return 0;
}
