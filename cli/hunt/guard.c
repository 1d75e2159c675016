/* SPDX-License-Identifier: MIT */
/* guard.c: see guard.h. */
#include "hunt/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "hunt/task.h"

/* processes are looked for until this many searches in a row have found none: one may be forked during a search */
#define QUIET 3u
#define PAUSE_NS 20000000l

static void hold_no_files(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
}

static _Noreturn void guard(const char *begin, pid_t hunt)
{
	static const struct timespec soon = {.tv_nsec = PAUSE_NS};
	sigset_t all, gone;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&gone);
	sigaddset(&gone, SIGUSR1);
	setsid();
	hold_no_files();
	prctl(PR_SET_NAME, "fred-guard");
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	while (getppid() == hunt)
		sigwaitinfo(&gone, NULL);
	for (unsigned quiet = 0; quiet < QUIET; sigtimedwait(&gone, NULL, &soon))
		quiet = task_end_recording(begin) ? 0 : quiet + 1;
	_exit(0);
}

int guard_start(const char *begin, struct err *e)
{
	pid_t hunt = getpid(), pid = fork();

	if (!pid)
		guard(begin, hunt);
	return pid < 0 ? err_fork(e, "fork") : 0;
}
