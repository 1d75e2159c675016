/* SPDX-License-Identifier: MIT */
/* child.c: see child.h. A pidfd cannot hit another process that got the same PID. */
#include "loop/child.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void child_ready(struct loop_source *s, uint32_t events)
{
	struct loop_child *c = container_of(s, struct loop_child, source);
	siginfo_t si = {0};

	/* __WALL: a cell's init was cloned with its own exit signal */
	if (waitid(P_PIDFD, (id_t)s->fd, &si, WEXITED | WNOHANG | __WALL)) {
		if (errno != ECHILD)
			return;
		si.si_code = CLD_EXITED; /* another part of the program has reaped it, so its status is not known */
		si.si_status = -1;
	} else if (!si.si_pid) {
		return;
	}
	loop_child_fini(c);
	c->fn(c, si.si_code, si.si_status);
}

int loop_child_init(struct loop_child *c, struct loop *l, pid_t pid, int pidfd,
		    void (*fn)(struct loop_child *c, int code, int status), struct err *e)
{
	memset(c, 0, sizeof(*c));
	c->loop = l;
	c->pid = pid;
	c->fn = fn;
	c->source.fn = child_ready;
	c->source.fd = pidfd >= 0 ? pidfd : (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->source.fd < 0)
		return err_errno(e, ERR_INTERNAL, "pidfd_open %d", (int)pid);
	if (loop_add(l, &c->source, EPOLLIN, e)) {
		close(c->source.fd);
		c->source.fd = -1;
		return -1;
	}
	return 0;
}

void loop_child_kill(struct loop_child *c, int signo)
{
	if (c->source.fd >= 0)
		syscall(SYS_pidfd_send_signal, c->source.fd, signo, NULL, 0);
}

void loop_child_fini(struct loop_child *c)
{
	if (c->source.fd < 0)
		return;
	loop_del(c->loop, &c->source);
	close(c->source.fd);
	c->source.fd = -1;
}
