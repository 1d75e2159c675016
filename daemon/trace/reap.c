/* SPDX-License-Identifier: MIT */
/* reap.c: waits for a killed process, also while its threads are traced. What other children do is not taken. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "trace/trace.h"

/* A thread that is traced may stop once more (PTRACE_EVENT_EXIT). */
static void wait_for_thread(pid_t tid)
{
	int status;
	pid_t r;

	while ((r = waitpid(tid, &status, __WALL)) == tid || (r < 0 && errno == EINTR))
		if (r == tid && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, tid, 0, 0);
		else if (r == tid)
			return;
}

/* Those that are found in one reading: the list moves on while threads end. Were there some? */
static bool wait_for_others(pid_t pid)
{
	char path[64];
	struct dirent *d;
	cleanup_closedir DIR *dir = NULL;
	bool any = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid <= 0 || tid == pid)
			continue;
		wait_for_thread(tid);
		any = true;
	}
	return any;
}

/* The first thread can be reaped only when its tracer has seen the others go. */
void trace_reap(pid_t pid)
{
	while (wait_for_others(pid))
		;
	wait_for_thread(pid);
}
