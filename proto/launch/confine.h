/* SPDX-License-Identifier: MIT */
/*
 * confine.h: what a process gives up before it executes a program that somebody else may have made. What stays over a
 * checkpoint: CRIU restores capabilities, IDs, limits, the root and, for a caller with rights over the host, filters.
 */
#ifndef FRED_LAUNCH_CONFINE_H
#define FRED_LAUNCH_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct launch_confine {
	bool filter; /* only the system calls of confine.c's list, the others fail with EPERM */
	/*
	 * Its user and group after the exec, real, effective and saved: the kernel counts processes by it, and has no
	 * limit for those of user 0. 0: the caller's. Not before the exec, whose auxiliary vector would have it.
	 */
	uint32_t own_id;
	uint32_t file_uid; /* with own_id: the user as which it opens files (setfsuid(2)): that of the recording */
	uint64_t processes; /* RLIMIT_NPROC */
	uint64_t file_size; /* bytes, RLIMIT_FSIZE */
};

/*
 * For a child between fork and exec: no capability but CAP_CHECKPOINT_RESTORE (by which a replay chooses the IDs of
 * threads), no_new_privs, the limits, no core dump, the first to be killed for want of memory, the filter. Calls
 * nothing that is not async-signal-safe. -1, errno. before_root: the part that needs /proc, in front of a chroot.
 */
int confine_before_root(void);
int confine_self(const struct launch_confine *c);

/* May the caller, user 0, give a process an ID of its own, and still end it? */
bool confine_may_change_id(void);
/*
 * For a traced process in its exec stop, or just `placed` by launch/place.h: own_id and file_uid; the capabilities that
 * this takes go. NULL, or what failed.
 */
const char *confine_give_id(pid_t pid, bool placed, const struct launch_confine *c);

#endif
