/* SPDX-License-Identifier: MIT */
/* blocked.c: see blocked.h. */
#include "trace/blocked.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "trace/internal.h"

#define MUTEX_KINDS 0x3ff /* glibc: of __kind, type, robust, inheritance, protection, process-shared, elision */

static enum blocked kind_of(int64_t nr, const uint64_t arg[4], uint64_t *futex)
{
	int op = (int)arg[1] & FUTEX_CMD_MASK;

	if (nr != SYS_futex || arg[3] || (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET && op != FUTEX_LOCK_PI))
		return BLOCKED_FOR_A_TIME;
	*futex = arg[0];
	return BLOCKED_UNTIL_WOKEN;
}

enum blocked blocked_in(const struct user_regs_struct *r, uint64_t *futex)
{
	int64_t nr = (int64_t)r->orig_rax;
	const uint64_t arg[4] = {r->rdi, r->rsi, r->rdx, r->r10};

	return nr < 0 || !trace_wants_restart((int64_t)r->rax) ? BLOCKED_NOT : kind_of(nr, arg, futex);
}

enum blocked blocked_now(pid_t pid, pid_t tid, uint64_t *futex)
{
	cleanup_fclose FILE *f = NULL;
	char path[64];
	uint64_t arg[4];
	int64_t nr;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (maps_state(path) != 'S')
		return BLOCKED_NOT;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	/* "running", or the call's number (-1: none) and its arguments */
	if (!f || fscanf(f, "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &nr, &arg[0], &arg[1], &arg[2],
			 &arg[3]) != 5)
		return BLOCKED_NOT;
	return nr < 0 ? BLOCKED_NOT : kind_of(nr, arg, futex);
}

static bool is_stopped(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	return maps_state(path) == 'T';
}

/* Do the other threads wait until they are woken, or for a SIGCONT? */
static bool all_others_wait(pid_t pid, pid_t tid)
{
	cleanup_closedir DIR *d = NULL;
	struct dirent *entry;
	uint64_t futex;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

		if (other && other != tid && !is_stopped(pid, other) &&
		    blocked_now(pid, other, &futex) != BLOCKED_UNTIL_WOKEN)
			return false;
	}
	return d;
}

bool blocked_for_good(pid_t pid, pid_t tid)
{
	uint64_t before, after;

	return !trace_cpu_ns(pid, &before, NULL) && all_others_wait(pid, tid) && !trace_cpu_ns(pid, &after, NULL) &&
	       before == after;
}

pid_t blocked_owner(pid_t pid, uint64_t futex)
{
	struct {
		int lock;
		unsigned count;
		int owner;
		unsigned users;
		int kind;
	} m;

	if (trace_read(pid, futex, &m, sizeof(m), NULL) || !m.lock || m.owner <= 0 || !m.users ||
	    (m.kind & ~MUTEX_KINDS))
		return 0;
	return m.owner;
}
