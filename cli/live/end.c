/* SPDX-License-Identifier: MIT */
/* end.c: see internal.h: how a live program ends, and its recording with it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "client/out.h"
#include "live/internal.h"
#include "visibility/regs.h"

#define KILLED SIGKILL /* as a status of waitpid */
#define LAST_MS 2000 /* time for the handler of a fatal signal, which may write a report and exit */

static void notes(struct live *l)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(l->rec.result.meta, "notes"), i, note)
		out_note(l->o->cli, "%s", json_string_value(note));
	out_note(l->o->cli, "recorded %s", l->rec.result.dir);
}

/* Removes what belonged to the program, which has ended. */
static void leave(struct live *l)
{
	live_return(l);
	live_term_to_debugger(&l->term);
	breaks_forget_text(&l->breaks);
	shim_frames_fini(&l->shim_frames);
	memset(&l->visibility, 0, sizeof(l->visibility));
	l->group.n = 0;
}

void live_finish(struct live *l, int status)
{
	struct err e = {0};

	leave(l);
	if (record_end(&l->rec, status, &e))
		out_failure("%s", e.text);
	else
		notes(l);
	record_session_fini(&l->rec);
}

/* The signal that stopped the program and is to be delivered to it, as GDB has decided; 0: none. */
static int stopped_by(const struct live *l)
{
	int sig = l->stop.why == RSP_SIGNALLED ? regs_host_signal(l->stop.sig) : 0;
	siginfo_t si;

	/* an interrupt from GDB is not a signal of the program */
	if (!sig || ptrace(PTRACE_GETSIGINFO, l->stop.tid, 0, &si) || si.si_signo != sig ||
	    si.si_code >> 8 == PTRACE_EVENT_STOP)
		return 0;
	return l->kept_back >> (sig - 1) & 1 ? 0 : sig;
}

/* Does its default action end the program? */
static bool is_fatal(int sig)
{
	static const int others[] = {0, SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (sig == others[i])
			return false;
	return true;
}

/* Detaches: the program runs on, and gets the signal that stopped it. 1: not possible now. */
static int let_go(struct live *l, struct err *e)
{
	struct group_thread *th = group_find(&l->group, l->stop.tid);
	int r;

	if (th && th->t.alive && !th->sig)
		th->sig = stopped_by(l);
	live_term_to_program(&l->term, l->group.pid);
	r = group_let_go(&l->group, e);
	if (r)
		live_term_to_debugger(&l->term);
	return r;
}

static int wait_end(struct live *l, pid_t pid, struct err *e)
{
	int status = 0;

	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "wait for the program");
	live_finish(l, status);
	return 0;
}

int live_tell_life(struct live *l, struct err *e)
{
	pid_t self = getpid();

	return write_full(l->life, &self, sizeof(self)) ? err_errno(e, ERR_INTERNAL, "pipe") : 0;
}

/* Waits for the program in the place of this process, its parent and tracer, which nobody else refers to any more. */
static _Noreturn void look_after(struct live *l)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status = 0;
	struct err e;

	close(l->conn.fd);
	close(l->life);
	setsid();
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	_exit(record_wait(&l->rec, &status, &e) || record_end(&l->rec, status, &e) ? EXIT_FAILURE : 0);
}

int live_detach(void *arg, struct err *e)
{
	struct live *l = arg;
	pid_t pid = l->group.pid, other;
	int r;

	if (!l->group.n)
		return 0;
	live_return(l);
	r = let_go(l, e);
	if (r)
		return r < 0 ? -1 : err_set(e, ERR_USAGE, "a signal is pending for it: continue first");
	live_term_to_debugger(&l->term);
	out_note(l->o->cli, "process %d continues, and is recorded to its end: %s", (int)pid, l->rec.result.dir);
	fflush(NULL);
	other = fork();
	if (other > 0)
		look_after(l);
	if (other < 0 || live_tell_life(l, e))
		return wait_end(l, pid, e);
	leave(l);
	keeper_forget(l->rec.keeper);
	record_session_fini(&l->rec);
	return 0;
}

/* Waits for the end of the program, which may run on in a handler; then kills it. */
static void end_within(struct live *l, pid_t pid, unsigned ms)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r;

	do
		r = fd < 0 ? 0 : poll(&p, 1, (int)ms);
	while (r < 0 && errno == EINTR);
	if (!r) {
		out_note(l->o->cli, "the program ran on after SIG%s, and was killed",
			 sigabbrev_np(regs_host_signal(l->stop.sig)));
		kill(pid, SIGKILL);
	}
}

int live_kill(void *arg, struct err *e)
{
	struct live *l = arg;
	pid_t pid = l->group.pid;

	if (!l->group.n)
		return 0;
	live_return(l);
	if (l->ending) /* what ends the program is not this signal */
		return let_go(l, e) ? err_set(e, ERR_USAGE, "a signal is pending for it: continue first")
				    : wait_end(l, pid, e);
	if (is_fatal(stopped_by(l)) && !let_go(l, e)) {
		end_within(l, pid, LAST_MS);
		return wait_end(l, pid, e);
	}
	group_kill(&l->group);
	live_finish(l, KILLED);
	return 0;
}
