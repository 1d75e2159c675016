/* SPDX-License-Identifier: MIT */
/*
 * fix_auxv.h: makes the start of a program repeatable. Used by launch.c, and by others that hold a process in its exec
 * stop.
 */
#ifndef FRED_LAUNCH_FIX_AUXV_H
#define FRED_LAUNCH_FIX_AUXV_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The user and group IDs that the vector shows. */
struct launch_ids {
	uint64_t uid, euid, gid, egid;
};

/*
 * pid must be traced by the caller and stand in its exec stop, before its first instruction. Writes
 * LAUNCH_AT_RANDOM_BYTES where AT_RANDOM points and turns the AT_SYSINFO_EHDR entry into AT_IGNORE, so that libc makes
 * system calls where it would use the vDSO. AT_UID and its like are set from ids; NULL: they stay. What the kernel
 * shows in /proc/PID/auxv stays as it was. Fails (ERR_HOST) unless it is a 64-bit x86 program.
 */
int launch_fix_auxv(pid_t pid, const struct launch_ids *ids, struct err *e);

#endif
