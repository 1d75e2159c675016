/* SPDX-License-Identifier: MIT */
/*
 * cell.c: starts and ends cells.
 *
 * A thread calls unshare and fork, instead of clone3(CLONE_NEWPID), because only libc's own fork leaves the child's
 * libc in a valid state (its cached TID, its locks). unshare(CLONE_NEWPID) affects the calling thread, and only a
 * process with privileges over the old PID namespace can undo it, which an ordinary user's daemon does not have. So
 * each cell has a thread of its own, which ends with the cell.
 */
#include "cell/cell.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "cell/handshake.h"
#include "cell/ns.h"
#include "cell/plain.h"
#include "cell/userns.h"
#include "cell/wait.h"

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
	if (handshake_arm(sock, e) || cell_wait_setup(e))
		return -1;
	return ns_enter(e) || leave_low_pids(e) ? -1 : 0;
}

static void __attribute__((noreturn)) pid1(int sock, int (*init)(void *arg), void *arg)
{
	struct err e = {0};
	int r;

	plain_forget();
	r = inside(sock, &e);
	handshake_run(sock, r, &e, init, arg);
}

/* The request of cell_start to the thread that forks, and the thread's answer. */
struct forker {
	int (*init)(void *arg);
	void *arg;
	int ours, theirs; /* the ends of the handshake's socket */
	pid_t pid; /* the answer: the PID of the cell's pid 1; -1: `error` is the errno of what failed */
	struct cell *cell; /* its dir is set before there is a process */
	int error;
	sem_t answered;
};

/*
 * The thread that forked the cell must live as long as the cell, whose parent-death signal comes at the end of that
 * thread.
 */
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
	sem_post(&f->answered); /* from here on f does not exist any more */
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

typedef int fork_fn(struct forker *f, struct err *e);

static int start(fork_fn *fork_first, struct forker *f, struct cell *c, struct err *e)
{
	cleanup_close int ours = -1, theirs = -1;
	int sk[2], r = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sk))
		return err_errno(e, ERR_INTERNAL, "socketpair");
	f->cell = c;
	f->ours = ours = sk[0];
	f->theirs = theirs = sk[1];
	if (fork_first(f, e))
		return -1;
	c->pid = f->pid;
	close(steal_fd(&theirs));
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		err_errno(e, ERR_HOST, "pidfd_open");
	else
		r = handshake_wait(ours, e);
	if (r) {
		int status = cell_kill(c);

		if (r > 0)
			handshake_died(status, e);
		return -1;
	}
	return 0;
}

static int fork_plain(struct forker *f, struct err *e)
{
	f->pid = plain_fork(f->init, f->arg, f->theirs, f->cell->dir, sizeof(f->cell->dir));
	return f->pid < 0 ? err_errno(e, ERR_HOST, "cannot make a process") : 0;
}

/* out is set only on success. */
static int start_as(fork_fn *fork_first, int end_signal, struct forker f, struct cell *out, struct err *e)
{
	struct cell c = {.pidfd = -1, .end_signal = end_signal};

	if (start(fork_first, &f, &c, e))
		return -1;
	*out = c;
	return 0;
}

int cell_start(int (*init)(void *arg), void *arg, struct cell *out, struct err *e)
{
	const struct forker f = {.init = init, .arg = arg};

	return start_as(fork_pid1, SIGKILL, f, out, e) ? err_wrap(e, "cannot make a cell") : 0;
}

int cell_start_plain(int (*init)(void *arg), void *arg, struct cell *out, struct err *e)
{
	const struct forker f = {.init = init, .arg = arg};

	return start_as(fork_plain, SIGTERM, f, out, e) ? err_wrap(e, "cannot make a cell without namespaces") : 0;
}

void cell_remove_dir(const char *dir)
{
	struct err ignored;

	if (*dir)
		rm_rf(dir, &ignored);
}

int cell_join(struct cell *c, int *status, struct err *e)
{
	int r = cell_wait_pid(c->pid, status, e);

	cell_remove_dir(c->dir);
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
	kill(c->pid, c->end_signal);
	cell_join(c, &status, &ignored);
	return status;
}
