/* SPDX-License-Identifier: MIT */
/*
 * plain.c: see plain.h. The name of the cell's folder is in the environment of its processes. It is short, since it has
 * to fit into the place of the recording's name (target/program.c).
 */
#include "cell/plain.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/handshake.h"
#include "cell/wait.h"

#define DIR_VARIABLE "FRED_CELL_DIR"
#define COUNT_NS 250000000u /* how often processes are counted */

const char *cell_dir(void)
{
	const char *dir = getenv(DIR_VARIABLE);

	return dir ? dir : CELL_RUN_DIR;
}

bool cell_is_plain(void)
{
	return getenv(DIR_VARIABLE) != NULL;
}

void plain_forget(void)
{
	unsetenv(DIR_VARIABLE);
}

/* Kills the caller's children; their children then become the caller's, and are killed, too. */
static void kill_all(void)
{
	struct err ignored;

	for (;;) {
		cleanup_buf struct buf b = {0};
		bool reaped = false;
		const char *p;
		char *end;
		long pid;

		if (!read_file("/proc/thread-self/children", &b, &ignored))
			for (p = buf_str(&b); (pid = strtol(p, &end, 10)) > 0; p = end)
				kill((pid_t)pid, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			reaped = true; /* the children of those that were reaped were not in the list */
		if (!reaped && waitpid(-1, NULL, __WALL) < 0 && errno != EINTR)
			return;
	}
}

static void read_children(pid_t pid, struct buf *b)
{
	cleanup_free char *tasks = str_fmt("/proc/%d/task", (int)pid);
	cleanup_closedir DIR *d = opendir(tasks);
	struct dirent *entry;
	struct err ignored;

	while (d && (entry = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/children", tasks, entry->d_name);
		cleanup_buf struct buf one = {0};

		if (*entry->d_name != '.' && !read_file(path, &one, &ignored))
			buf_add_str(b, buf_str(&one));
	}
}

/* How many processes are below this one; not more than `most` are counted. */
static size_t count_below(pid_t pid, size_t most)
{
	cleanup_buf struct buf b = {0};
	size_t n = 0;
	const char *p;
	char *end;
	long child;

	read_children(pid, &b);
	for (p = buf_str(&b); n < most && (child = strtol(p, &end, 10)) > 0; p = end)
		n += 1 + count_below((pid_t)child, most - n - 1);
	return n;
}

/* The number of threads on the host, or in its container; 0: not known. (sysinfo(2) has only 16 bits for it.) */
static unsigned long count_all(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *total;

	if (read_file("/proc/loadavg", &b, &ignored))
		return 0;
	total = strchr(buf_str(&b), '/');
	return total ? strtoul(total + 1, NULL, 10) : 0;
}

/*
 * Are there too many processes in the cell? They are counted only if the number of threads on the host differs from
 * `before`, the number when the cell began.
 */
static bool is_crowded(unsigned long before)
{
	unsigned long now = count_all();

	return (!now || now >= before + CELL_PROCESSES) && count_below(getpid(), CELL_PROCESSES + 1) > CELL_PROCESSES;
}

/*
 * Waits until the cell's child has ended, or the cell is to end. Returns the child's status. The kernel limits the
 * number of processes only for ordinary users (launch/confine.h), so those of user 0 are counted here.
 */
static int stay(pid_t child, const sigset_t *set)
{
	const struct timespec pause = {.tv_nsec = COUNT_NS};
	const bool counts = !getuid();
	const unsigned long before = counts ? count_all() : 0;

	for (;;) {
		int sig = sigtimedwait(set, NULL, counts ? &pause : NULL), status;
		pid_t pid;

		if (sig == SIGTERM)
			return SIGKILL;
		if (sig < 0 && counts && is_crowded(before))
			return CELL_CROWDED << 8;
		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
			if (pid == child)
				return status;
	}
}

static void __attribute__((noreturn)) end_as(int status)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	handshake_default_signals();
	raise(WTERMSIG(status));
	sigfillset(&set);
	_exit(127);
}

static int furnish(const char *dir, pid_t guard, struct err *e)
{
	if (getppid() != guard)
		return err_set(e, ERR_INTERNAL, "the process that started the cell has ended");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) || setenv(DIR_VARIABLE, dir, 1))
		return err_errno(e, ERR_HOST, "cannot prepare a process without namespaces");
	return cell_wait_setup(e);
}

static void __attribute__((noreturn))
guard_main(int (*init)(void *arg), void *arg, int sock, const char *dir, pid_t parent)
{
	pid_t guard = getpid(), child;
	struct err e = {0};
	sigset_t set;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	handshake_default_signals();
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	child = getppid() == parent ? fork() : -1;
	if (!child) {
		int r = handshake_arm(sock, &e) || furnish(dir, guard, &e) ? -1 : 0;

		handshake_run(sock, r, &e, init, arg);
	}
	close_range(0, ~0u, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	status = child > 0 ? stay(child, &set) : 127 << 8;
	kill_all();
	rm_rf(dir, &e);
	end_as(status);
}

pid_t plain_fork(int (*init)(void *arg), void *arg, int sock, char *dir, size_t size)
{
	pid_t parent = getpid(), pid;

	if (snprintf(dir, size, "/tmp/fred-XXXXXX") >= (int)size || !mkdtemp(dir))
		return -1;
	pid = fork();
	if (!pid)
		guard_main(init, arg, sock, dir, parent);
	if (pid < 0)
		rmdir(dir);
	return pid;
}
