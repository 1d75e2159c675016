/* SPDX-License-Identifier: MIT */
/*
 * confine.h: rights that a process gives up before it executes a program that somebody else may have made. This still
 * holds after a checkpoint is restored: CRIU restores capabilities, IDs, limits, the root and, if the caller has rights
 * over the host, filters.
 */
#ifndef FRED_LAUNCH_CONFINE_H
#define FRED_LAUNCH_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/landlock.h"

struct launch_confine {
	bool filter; /* only the system calls of confine.c's list, the others fail with EPERM */
	/*
	 * Not NULL: the process has no namespaces of its own. It can only use these files; it can set limits and
	 * processors only for itself, and send signals only to processes with the same restriction (before Linux 6.12,
	 * only to itself). It ends with the thread that has started it.
	 */
	const struct landlock_paths *paths;
	/*
	 * Its user and group ID, real, effective and saved; 0: the caller's. The kernel counts processes by user, and
	 * does not limit those of user 0. It is set after the exec, since the auxiliary vector made there would show
	 * it.
	 */
	uint32_t own_id;
	uint32_t file_uid; /* with own_id: the user as which it opens files (setfsuid(2)), the owner of the recording */
	uint64_t processes; /* RLIMIT_NPROC */
	uint64_t file_size; /* bytes, RLIMIT_FSIZE */
};

/*
 * For a child between fork and exec. Removes all capabilities except CAP_CHECKPOINT_RESTORE (by which a replay chooses
 * the IDs of threads); sets no_new_privs, the limits and the filter; no core is dumped, and this process is the first
 * to be killed if memory runs out. Calls only async-signal-safe functions. -1, errno. before_root: the part that needs
 * /proc, to be called before a chroot.
 */
int confine_before_root(void);
int confine_self(const struct launch_confine *c);

/* May the caller, user 0, give a process an ID of its own, and still end it? */
bool confine_may_change_id(void);
/*
 * For a traced process in its exec stop, or just `placed` by launch/place.h: sets own_id and file_uid, and removes the
 * capabilities that are needed for that. NULL, or what failed.
 */
const char *confine_give_id(pid_t pid, bool placed, const struct launch_confine *c);

#endif
