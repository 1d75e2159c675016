/* SPDX-License-Identifier: MIT */
/* capture.c: see capture.h. */
#include "doctor/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"

static _Noreturn void become(char *const argv[], unsigned timeout_s, int out, int failure)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int why;

	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(timeout_s); /* survives exec, and ends it */
		execvp(argv[0], argv);
	}
	why = errno;
	_exit(write_full(failure, &why, sizeof(why)) ? 126 : 127);
}

int capture(char *const argv[], unsigned timeout_s, struct buf *out, int *status, struct err *e)
{
	cleanup_close int out_r = -1, fail_r = -1;
	int p[2], f[2], why = 0, r;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) || pipe2(f, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	out_r = p[0];
	fail_r = f[0];
	pid = fork();
	if (pid == 0)
		become(argv, timeout_s, p[1], f[1]);
	close(p[1]);
	close(f[1]);
	if (pid < 0)
		return err_errno(e, ERR_HOST, "fork");
	r = read_fd(out_r, out, e);
	if (read_full(fail_r, &why, sizeof(why)) == sizeof(why)) {
		errno = why;
		r = err_errno(e, ERR_HOST, "%s", argv[0]);
	}
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return r;
}
