/* SPDX-License-Identifier: MIT */
/* tool.c: see tool.h. */
#include "hunt/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "hunt/task.h"

static int status_of(pid_t pid, struct err *e)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "waitpid");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void defaults(void)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static _Noreturn void child(const char *const *words, int out, int err)
{
	cleanup_strv struct strv argv = {0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	defaults();
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	strv_add(&argv, "fredctl");
	strv_add(&argv, "--json");
	strv_add(&argv, "-q");
	strv_add_all(&argv, words);
	execv("/proc/self/exe", argv.s);
	_exit(127);
}

static void drain(int fds[2], struct buf *bufs[2])
{
	struct pollfd p[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) < 0)
			continue;
		for (unsigned i = 0; i < 2; i++) {
			ssize_t n;

			if (!p[i].revents)
				continue;
			n = read(p[i].fd, buf_reserve(bufs[i], 65536), 65536);
			if (n > 0)
				buf_added(bufs[i], (size_t)n);
			else if (!n || errno != EINTR)
				p[i].fd = -1;
		}
	}
}

int tool_fredctl(const char *const *words, json_t **result, struct buf *why, struct err *e)
{
	cleanup_buf struct buf out = {0};
	struct err ignored;
	int o[2], r[2];
	pid_t pid;

	*result = NULL;
	if (pipe2(o, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	if (pipe2(r, O_CLOEXEC)) {
		close(o[0]);
		close(o[1]);
		return err_errno(e, ERR_HOST, "pipe");
	}
	pid = fork();
	if (!pid)
		child(words, o[1], r[1]);
	close(o[1]);
	close(r[1]);
	if (pid > 0)
		drain((int[2]){o[0], r[0]}, (struct buf *[2]){&out, why});
	close(o[0]);
	close(r[0]);
	if (pid < 0)
		return err_fork(e, "fork");
	if (out.len)
		*result = json_parse(out.data, out.len, &ignored);
	return status_of(pid, e);
}

/* Waits at most this long for the process; then ends it. true: it has ended by itself. */
static bool ends_within(pid_t pid, int seconds)
{
	double end = clock_s() + seconds, left = seconds;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {fd, POLLIN, 0};
	int n = 0;

	if (fd < 0)
		return true; /* a kernel without pidfd_open: waitpid then waits without a limit */
	while (left > 0 && (n = poll(&p, 1, (int)(left * 1000) + 1)) <= 0)
		left = end - clock_s();
	close(fd);
	if (n > 0)
		return true;
	task_end_below(pid);
	kill(pid, SIGKILL);
	return false;
}

int tool_shell(const char *command, const char *input, const char *const *vars, struct err *e)
{
	pid_t pid = fork();
	bool in_time;
	int status;

	if (pid < 0)
		return err_fork(e, "fork");
	if (!pid) {
		int in = open(input, O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		defaults();
		dup2(in, 0);
		dup2(null, 1);
		for (; *vars; vars++)
			putenv((char *)*vars);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	in_time = ends_within(pid, TOOL_SHELL_S);
	status = status_of(pid, e);
	return in_time ? status : err_set(e, ERR_USAGE, "'%s' did not end within %d s", command, TOOL_SHELL_S);
}
