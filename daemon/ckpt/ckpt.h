/* SPDX-License-Identifier: MIT */
/*
 * ckpt.h: images of a replaying target by CRIU. Called by the pid 1 of a cell (cell/cell.h), which
 * is the target's parent. What can be dumped: no socket, no terminal, no tracer; 0 to 2 on
 * /dev/null; a session of its own; all threads in calls that may be restarted (the shim's futex
 * waits).
 *
 * Shared file mappings (the control page) are mapped again from the file of the same name at
 * restore: their contents belong to the caller (ckpt/store.h saves and restores them).
 */
#ifndef FRED_CKPT_CKPT_H
#define FRED_CKPT_CKPT_H

#include <sys/types.h>

#include "base/err.h"

struct ckpt_env {
	const char *criu; /* the program; NULL: ckpt_criu_path */
	int log_level; /* CRIU's, 0: warnings (2). 4: everything */
	pid_t helper_pid; /* CRIU's own processes get PIDs above this one; 0: as they come */
};

/*
 * The CRIU program: $FRED_CRIU, the installed private one, the one scripts/setup built, criu of
 * $PATH or /usr/sbin. malloc'd; NULL: ERR_HOST.
 */
char *ckpt_criu_path(struct err *e);

/*
 * Writes the image of process pid (and of its descendants) into the folder dir, made if missing.
 * The process then continues where it was, its threads again in the calls they were in; if a
 * signal had stopped it, it is stopped again. dir/dump.log is CRIU's log; on failure the message
 * has its last error lines. ERR_HOST: CRIU is missing; ERR_INTERNAL: it failed.
 */
int ckpt_dump(const struct ckpt_env *env, pid_t pid, const char *dir, struct err *e);

/*
 * Makes the process of dir's image again, with the same PIDs, as a child of the caller. They must
 * be free. An image can be restored any number of times, in several cells at once. CRIU logs into
 * /run/fred/restore.log.
 */
int ckpt_restore(const struct ckpt_env *env, const char *dir, pid_t *pid, struct err *e);

#endif
