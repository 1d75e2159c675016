/* SPDX-License-Identifier: MIT */
/*
 * cell.c: starts and ends cells.
 *
 * Why unshare + fork + setns and not clone3(CLONE_NEWPID): only libc's own fork gives the child a
 * libc in order (its cached TID, its locks). The setns takes the caller back: without it, all of
 * its later children would land in the new PID namespace.
 *
 * Handshake over a socket: the child arms its parent-death signal, says so, and waits for an
 * answer; an answer proves that the parent lived after the arming, so no cell outlives its daemon.
 * Then it reports a struct err: the outcome of its set-up.
 */
#include "cell/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "cell/ns.h"
#include "cell/wait.h"

static void default_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig <= SIGRTMAX; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The target's PIDs are recorded ones; what else runs in a cell must not take them. */
static int leave_low_pids(struct err *e)
{
	cleanup_buf struct buf b = {0};
	long max;

	if (read_file("/proc/sys/kernel/pid_max", &b, e))
		return -1;
	max = strtol(buf_str(&b), NULL, 10);
	return cell_set_last_pid((pid_t)(max / 4 * 3), e);
}

static int inside(int sock, struct err *e)
{
	char answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (send(sock, "a", 1, MSG_NOSIGNAL) != 1 || recv(sock, &answer, 1, 0) != 1)
		return err_set(e, ERR_INTERNAL, "the process that started the cell has ended");
	default_signals();
	if (cell_wait_setup(e))
		return -1;
	return ns_enter(e) || leave_low_pids(e) ? -1 : 0;
}

static void __attribute__((noreturn)) pid1(int sock, int (*init)(void *arg), void *arg)
{
	struct err e = {0};
	int r = inside(sock, &e);
	ssize_t sent = send(sock, &e, sizeof(e), MSG_NOSIGNAL);

	close(sock);
	_exit(r || sent != (ssize_t)sizeof(e) ? 127 : init(arg));
}

/* The set-up's outcome, from the child. 1: it ended before it could say. */
static int handshake(int sock, struct err *e)
{
	struct err theirs;
	char armed;

	if (recv(sock, &armed, 1, 0) == 1 && send(sock, "g", 1, MSG_NOSIGNAL) == 1 &&
	    recv(sock, &theirs, sizeof(theirs), 0) == (ssize_t)sizeof(theirs)) {
		if (theirs.kind == ERR_NONE)
			return 0;
		theirs.text[sizeof(theirs.text) - 1] = 0;
		return err_set(e, theirs.kind, "%s", theirs.text);
	}
	return 1;
}

static int died(int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, ERR_INTERNAL, "its first process was killed by SIG%s",
			       sigabbrev_np(WTERMSIG(status)));
	return err_set(e, ERR_INTERNAL, "its first process ended with status %d", WEXITSTATUS(status));
}

/* fork, with the child as pid 1 of a new PID namespace. */
static pid_t fork_pid1(struct err *e)
{
	cleanup_close int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	int saved;
	pid_t pid;

	if (own < 0)
		return err_errno(e, ERR_HOST, "cannot open /proc/self/ns/pid");
	if (unshare(CLONE_NEWPID)) {
		if (errno == EPERM)
			return err_set(e, ERR_HOST, "CAP_SYS_ADMIN is missing (run as root)");
		return err_errno(e, ERR_HOST, "cannot make a pid namespace");
	}
	pid = fork();
	saved = errno;
	if (pid && setns(own, CLONE_NEWPID)) {
		err_errno(e, ERR_INTERNAL, "cannot go back to the own pid namespace");
		if (pid > 0) {
			kill(pid, SIGKILL);
			cell_wait_pid(pid, NULL, e);
		}
		return -1;
	}
	errno = saved;
	return pid < 0 ? err_errno(e, ERR_HOST, "cannot fork") : pid;
}

int cell_start(int (*init)(void *arg), void *arg, struct cell *out, struct err *e)
{
	cleanup_close int ours = -1, theirs = -1;
	struct cell c = {.pidfd = -1};
	int sk[2], r = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sk))
		return err_errno(e, ERR_INTERNAL, "cannot make a cell: socketpair");
	ours = sk[0];
	theirs = sk[1];
	c.pid = fork_pid1(e);
	if (c.pid < 0)
		return err_wrap(e, "cannot make a cell");
	if (!c.pid) {
		close(ours);
		pid1(theirs, init, arg);
	}
	close(steal_fd(&theirs));
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	if (c.pidfd < 0)
		err_errno(e, ERR_HOST, "pidfd_open");
	else
		r = handshake(ours, e);
	if (r) {
		int status = cell_kill(&c);

		if (r > 0)
			died(status, e);
		return err_wrap(e, "cannot make a cell");
	}
	*out = c;
	return 0;
}

int cell_join(struct cell *c, int *status, struct err *e)
{
	int r = cell_wait_pid(c->pid, status, e);

	if (c->pidfd >= 0)
		close(c->pidfd);
	*c = (struct cell){.pidfd = -1};
	return r;
}

int cell_kill(struct cell *c)
{
	struct err ignored;
	int status = 0;

	if (c->pid <= 0)
		return 0;
	kill(c->pid, SIGKILL);
	cell_join(c, &status, &ignored);
	return status;
}
