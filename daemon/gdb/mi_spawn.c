/* SPDX-License-Identifier: MIT */
/*
 * mi_spawn.c: fork and exec of GDB, from a process with one thread. A failed exec is reported through a
 * close-on-exec pipe.
 */
#define LOG_DOMAIN "gdb"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/log.h"
#include "base/own.h"
#include "gdb/mi_spawn.h"

#define HELPER "libfred-gdb.so"

/* The pipe ends that the child gets, and the one on which it reports. */
struct child_fds {
	int in, out, err, report;
};

static void reset_signals(void)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Moves fd out of 0..2, where the dup2 calls would overwrite it. */
static int above_stdio(int fd)
{
	return fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void child_exec(struct child_fds f, char *const argv[])
{
	int report = above_stdio(f.report), in = above_stdio(f.in), out = above_stdio(f.out), err = above_stdio(f.err),
	    cause;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	reset_signals();
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0) {
		close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
		execvp(argv[0], argv);
	}
	cause = errno;
	if (write(report, &cause, sizeof(cause)) < 0)
		_exit(126);
	_exit(127);
}

/* The helper that GDB is to load, see plugins/regset/xstate.c. Without it GDB can still do most things. */
static void set_preload(void)
{
	static const char *const places[] = {
		"../plugins/regset/" HELPER,
		"../../plugins/regset/" HELPER, /* of the adapter in cli/dap */
		"../../../plugins/regset/" HELPER, /* of the tests' programs */
		FRED_LIB "/" HELPER,
		NULL,
	};
	struct err e;
	cleanup_free char *path = own_file(HELPER, places, &e);

	if (path)
		setenv("LD_PRELOAD", path, 1);
	else
		log_warn("%s", e.text);
}

/* GDB would print messages in the user's language, and its Python would read the user's settings. */
static void set_environment(bool is_gdb)
{
	static const char *const drop[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "DEBUGINFOD_URLS", "COLUMNS",
					   "LINES",	 "PYTHONPATH",	    "PYTHONHOME"};

	for (size_t i = 0; i < sizeof(drop) / sizeof(drop[0]); i++)
		unsetenv(drop[i]);
	set_preload();
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "dumb", 1);
	if (is_gdb)
		home_use_python_cache();
}

static int open_pipes(int in[2], int out[2], int err[2], int report[2], struct err *e)
{
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return err_errno(e, ERR_INTERNAL, "cannot make a pipe for GDB");
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static void close_pair(int p[2])
{
	for (int i = 0; i < 2; i++)
		if (p[i] >= 0)
			close(p[i]);
}

/* Waits for the exec: the report pipe closes, or carries the errno of a failure. */
static int check_exec(pid_t pid, int report, const char *name, struct err *e)
{
	int cause = 0;

	if (read_full(report, &cause, sizeof(cause)) != sizeof(cause))
		return 0;
	waitpid(pid, NULL, 0);
	errno = cause;
	return err_errno(e, ERR_HOST, "cannot run %s (Debian: apt install gdb)", name);
}

int mi_spawn(struct mi_proc *p, char *const argv[], bool is_gdb, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};
	int r = -1;

	*p = (struct mi_proc){.pid = -1, .pidfd = -1, .in = -1, .out = -1, .err = -1};
	if (open_pipes(in, out, err, report, e))
		goto done;
	p->pid = fork();
	if (p->pid < 0) {
		err_fork(e, "cannot fork for GDB");
		goto done;
	}
	if (!p->pid) {
		set_environment(is_gdb);
		child_exec((struct child_fds){in[0], out[1], err[1], report[1]}, argv);
	}
	close(report[1]);
	report[1] = -1;
	if (check_exec(p->pid, report[0], argv[0], e))
		goto done;
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0) {
		err_errno(e, ERR_HOST, "cannot open a pidfd for GDB");
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
		goto done;
	}
	p->in = steal_fd(&in[1]);
	p->out = steal_fd(&out[0]);
	p->err = steal_fd(&err[0]);
	r = 0;
done:
	close_pair(in);
	close_pair(out);
	close_pair(err);
	close_pair(report);
	return r;
}

void mi_proc_close(struct mi_proc *p)
{
	int *fd[] = {&p->in, &p->out, &p->err, &p->pidfd};

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}
