/* SPDX-License-Identifier: MIT */
/*
 * sud.h: reading and setting a tracee's Syscall User Dispatch (ptrace(2), Linux 6.4 and later;
 * Documentation/admin-guide/syscall-user-dispatch.rst). Debian 12's headers are older than the requests.
 */
#ifndef FRED_BASE_SUD_H
#define FRED_BASE_SUD_H

#include <stdint.h>
#include <sys/ptrace.h>

/* The kernel's struct ptrace_sud_config. */
struct sud_config {
	uint64_t mode; /* 1: on */
	uint64_t selector; /* address of the thread's selector byte */
	uint64_t offset, len; /* calls from here are never dispatched */
};

#define SUD_SET 0x4210 /* PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG */
#define SUD_GET 0x4211 /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG */

/* The tracee must be stopped. 0, or -1 with errno: EIO on an older kernel. */
static inline int sud_get(pid_t tid, struct sud_config *c)
{
	return ptrace((enum __ptrace_request)SUD_GET, tid, sizeof(*c), c) < 0 ? -1 : 0;
}

static inline int sud_set(pid_t tid, const struct sud_config *c)
{
	return ptrace((enum __ptrace_request)SUD_SET, tid, sizeof(*c), c) < 0 ? -1 : 0;
}

#endif
