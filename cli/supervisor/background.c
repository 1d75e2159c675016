/* SPDX-License-Identifier: MIT */
/* background.c: see background.h. It may write nothing but the recording: nobody looks at it any more. */
#include "supervisor/background.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recfiles/running.h"
#include "supervisor/log_limit.h"
#include "supervisor/keeper.h"
#include "supervisor/record.h"
#include "recfiles/compress.h"

static void forget_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (chdir("/"))
		return; /* then the folder stays in use */
}

static void wait_end(pid_t pid)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (fd >= 0 && poll(&p, 1, -1) <= 0)
		;
}

static _Noreturn void work(const struct record_result *r, struct rlog_control *c, struct keeper *k)
{
	struct bound *b = bound_start(r->dir, c);
	struct squeeze *s = b ? NULL : squeeze_start(r->dir);
	struct err ignored;
	pid_t pid;

	forget_terminal();
	if (k)
		keeper_serve(k, &ignored);
	while ((pid = running_first(r->dir)) > 0)
		wait_end(pid);
	squeeze_stop(s);
	bound_stop(b);
	_exit(record_complete(r, c, &ignored) ? 1 : 0);
}

void background_finish(const struct record_result *r, struct rlog_control *c, struct keeper *k)
{
	if (fork() == 0)
		work(r, c, k);
}
