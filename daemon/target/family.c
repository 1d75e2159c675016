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

/* A process that was forked by one of this session, and neither is traced nor has a session of its own. */
static bool is_in_line(pid_t pid, pid_t session)
{
	cleanup_buf struct buf b = {0};
	cleanup_free char *path = str_fmt("/proc/%d/status", (int)pid), *line = str_fmt("\nNSsid:\t%d", (int)session);
	struct err ignored;
	const char *at;

	if (read_file(path, &b, &ignored) || !strstr(buf_str(&b), "\nTracerPid:\t0\n"))
		return false;
	at = strstr(buf_str(&b), line);
	return at && strchr("\t\n", at[strlen(line)]);
}

/* A child of this thread in that line; 0: there is none. */
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
	/* what a child had just forked becomes this thread's */
	while ((pid = in_line(session)) > 0) {
		kill(pid, SIGKILL);
		trace_reap(pid);
	}
}
