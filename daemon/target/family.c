/* SPDX-License-Identifier: MIT */
/* family.c: see family.h. */
#include "target/family.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "cell/plain.h"
#include "trace/trace.h"

bool family_is_child(pid_t pid)
{
	siginfo_t si;

	return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL);
}

bool family_is_ours(pid_t pid)
{
	return !cell_is_plain() || family_is_child(pid);
}

/* Is that the value of this key, and in this PID namespace? "NSsid:\t12\t1" (proc_pid_status(5)) */
static bool has_value(const struct buf *status, const char *key, pid_t value)
{
	cleanup_free char *line = str_fmt("\n%s:\t%d", key, (int)value);
	const char *at = strstr(buf_str(status), line);

	return at && strchr("\t\n", at[strlen(line)]);
}

/*
 * A process that was forked by one of this session, is not traced, and has neither a session nor a process group of its
 * own: branches (target/branch.h) have such a group.
 */
static bool is_in_line(pid_t pid, pid_t session)
{
	cleanup_buf struct buf b = {0};
	cleanup_free char *path = str_fmt("/proc/%d/status", (int)pid);
	struct err ignored;

	return !read_file(path, &b, &ignored) && has_value(&b, "TracerPid", 0) && has_value(&b, "NSsid", session) &&
	       has_value(&b, "NSpgid", session);
}

/* Such a child of this thread; 0: there is none. */
static pid_t in_line(pid_t session)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;
	char *end;
	pid_t pid;

	if (read_file("/proc/thread-self/children", &b, &ignored))
		return 0;
	for (p = buf_str(&b); (pid = (pid_t)strtol(p, &end, 10)) > 0; p = end)
		if (is_in_line(pid, session))
			return pid;
	return 0;
}

void family_end_session(pid_t session)
{
	pid_t pid;

	if (session <= 0 || session == getsid(0))
		return;
	/* what such a child had just forked becomes a child of this thread */
	while ((pid = in_line(session)) > 0) {
		kill(pid, SIGKILL);
		trace_reap(pid);
	}
}
