/* SPDX-License-Identifier: MIT */
/* threads.c: see threads.h. */
#include "ckpt/threads.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static int wait_stop(pid_t tid, int *sig, struct err *e)
{
	int status;

	while (waitpid(tid, &status, __WALL) != tid)
		if (errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "waiting for thread %d", tid);
	if (!WIFSTOPPED(status))
		return err_set(e, ERR_INTERNAL, "thread %d has ended", tid);
	*sig = status >> 16 ? 0 : WSTOPSIG(status); /* of no ptrace event: the delivery of a signal */
	return 0;
}

int threads_stop(pid_t tid, int *sig, struct err *e)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return err_errno(e, ERR_HOST, "cannot trace thread %d", tid);
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return err_errno(e, ERR_INTERNAL, "cannot stop thread %d", tid);
	return wait_stop(tid, sig, e);
}

static int forget_hit(pid_t tid, struct err *e)
{
	int sig;

	if (threads_stop(tid, &sig, e))
		return -1;
	if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[6]), 0))
		return err_errno(e, ERR_INTERNAL, "cannot clear the debug status of thread %d", tid);
	return ptrace(PTRACE_DETACH, tid, 0, sig) ? err_errno(e, ERR_INTERNAL, "cannot release thread %d", tid) : 0;
}

int threads_forget_hits(const struct image_pids *p, struct err *e)
{
	for (size_t i = 0; i < p->threads; i++)
		if (forget_hit(p->thread[i], e))
			return -1;
	return 0;
}
