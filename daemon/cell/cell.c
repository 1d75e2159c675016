/* SPDX-License-Identifier: MIT */
/*
 * cell.c: starts and ends cells.
 *
 * Why a thread that unshares and forks, and not clone3(CLONE_NEWPID): only libc's own fork gives the child a libc in
 * order (its cached TID, its locks). What unshare(CLONE_NEWPID) changes is the calling thread's, and it can be undone
 * only by a process with rights over the old PID namespace, which an ordinary user's daemon has not: so each cell has
 * a thread, which ends with it.
 *
 * Handshake over a socket: the child arms its parent-death signal, says so, and waits for an
 * answer; an answer proves that the parent lived after the arming, so no cell outlives its daemon.
 * Then it reports a struct err: the outcome of its set-up.
 */
#include "cell/cell.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
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
#include "cell/userns.h"
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

/* The target has recorded PIDs; other processes of the cell must not take them. */
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
	/*
	 * Processes of the cell get no access to the user's keys (keyrings(7)). Where this call is refused, so is
	 * every use of keys.
	 */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
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

/* What cell_start asks of the thread that forks, and the thread's answer. */
struct forker {
	int (*init)(void *arg);
	void *arg;
	int ours, theirs; /* the ends of the handshake's socket */
	pid_t pid; /* the answer: of the cell's pid 1; -1: `error` is errno's value of what failed */
	int error;
	sem_t answered;
};

/* Waits until the process has ended: its parent-death signal is that of the thread that forked it. */
static void stay_until_end(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	close(pidfd);
}

static void *forker_run(void *p)
{
	struct forker *f = p;
	int pidfd = -1;

	f->pid = unshare(CLONE_NEWPID) ? -1 : fork();
	if (!f->pid) {
		close(f->ours);
		pid1(f->theirs, f->init, f->arg);
	}
	f->error = errno;
	if (f->pid > 0)
		pidfd = (int)syscall(SYS_pidfd_open, f->pid, 0);
	sem_post(&f->answered); /* f is gone from here on */
	if (pidfd >= 0)
		stay_until_end(pidfd);
	return NULL;
}

/* fork, with the child as pid 1 of a new PID namespace. */
static int fork_pid1(struct forker *f, struct err *e)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	sem_init(&f->answered, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* the daemon's signals are for its main thread */
	r = pthread_create(&thread, NULL, forker_run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		errno = r;
		return err_errno(e, ERR_HOST, "cannot make a thread");
	}
	pthread_detach(thread);
	while (sem_wait(&f->answered) && errno == EINTR)
		;
	sem_destroy(&f->answered);
	if (f->pid > 0)
		return 0;
	if (f->error == EPERM)
		return userns_refused(f->error, e);
	errno = f->error;
	return err_errno(e, ERR_HOST, "cannot make a process in a new pid namespace");
}

int cell_start(int (*init)(void *arg), void *arg, struct cell *out, struct err *e)
{
	cleanup_close int ours = -1, theirs = -1;
	struct cell c = {.pidfd = -1};
	struct forker f;
	int sk[2], r = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sk))
		return err_errno(e, ERR_INTERNAL, "cannot make a cell: socketpair");
	ours = sk[0];
	theirs = sk[1];
	f = (struct forker){.init = init, .arg = arg, .ours = ours, .theirs = theirs};
	if (fork_pid1(&f, e))
		return err_wrap(e, "cannot make a cell");
	c.pid = f.pid;
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
