/* SPDX-License-Identifier: MIT */
/*
 * shell.c: see internal.h. As GDB does it, a shell is told to `exec PROGRAM ARGS`; but it is stopped when it has
 * executed that, and its arguments and descriptors are taken for the recorded program, which is started without it:
 * nothing of the shell is recorded. What it executes is fredctl in the place of the program, whatever that is (a script
 * is another program's argument).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "live/internal.h"

#define FIRST_FD 500 /* after those that the program can have */

void live_shell_split(const char *args, struct strv *words)
{
	cleanup_free char *word = xmalloc(strlen(args) + 1);

	while (*(args += strspn(args, " \t\n\v\f\r"))) {
		bool escaped = false;
		char quote = '\0', *to = word;

		for (; *args && (escaped || quote || !isspace((unsigned char)*args)); args++) {
			if (escaped || (quote && *args != quote && *args != '\\') ||
			    (!quote && !strchr("\\'\"", *args)))
				*to++ = *args;
			else if (*args != '\\')
				quote = quote ? '\0' : *args;
			escaped = !escaped && *args == '\\';
		}
		*to = '\0';
		strv_add(words, word);
	}
}

bool live_shell_is_needed(const char *args)
{
	return args[strcspn(args, "\\'\"$;&|<>()*?[]#~`!{}^%=\n")] != '\0';
}

static const char *shell_path(void)
{
	const char *shell = getenv("SHELL");

	return shell && *shell ? shell : "/bin/sh";
}

static _Noreturn void become_shell(const char *command, const char *cwd)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (!ptrace(PTRACE_TRACEME, 0, 0, 0) && !raise(SIGSTOP) && (!cwd || !chdir(cwd)))
		execl(shell_path(), shell_path(), "-c", command, NULL);
	_exit(127);
}

/* Does the process execute the same file as this one? */
static bool is_self(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/exe", (int)pid);
	struct stat self, other;

	return !stat("/proc/self/exe", &self) && !stat(path, &other) && self.st_dev == other.st_dev &&
	       self.st_ino == other.st_ino;
}

/* Follows the shell up to its exec. */
static int follow(pid_t pid, struct err *e)
{
	bool begun = false;
	int status;

	for (;;) {
		int sig = 0;

		if (waitpid(pid, &status, 0) != pid) {
			if (errno == EINTR)
				continue;
			return err_errno(e, ERR_INTERNAL, "wait for %s", shell_path());
		}
		if (WIFEXITED(status))
			return err_set(e, ERR_USAGE, "%s, which starts the program, ended with code %d", shell_path(),
				       WEXITSTATUS(status));
		if (WIFSIGNALED(status))
			return err_set(e, ERR_USAGE, "%s, which starts the program, was killed by SIG%s", shell_path(),
				       sigabbrev_np(WTERMSIG(status)));
		if (status >> 16 == PTRACE_EVENT_EXEC && is_self(pid))
			return 0;
		if (!begun)
			begun = !ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
		else if (!(status >> 16))
			sig = WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
}

static int take_args(pid_t pid, struct live_start *s, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/cmdline", (int)pid);
	cleanup_buf struct buf b = {0};

	if (read_file(path, &b, e))
		return -1;
	for (size_t at = strlen(buf_str(&b)) + 1; at < b.len; at += strlen(b.data + at) + 1)
		strv_add(&s->args, b.data + at);
	return 0;
}

/*
 * Where a container's filter refuses pidfd_getfd(2). What the shell has from here is taken from here; anything else is
 * opened once more, at the same place.
 */
static int take_by_proc(pid_t pid, int as)
{
	cleanup_free char *path = str_fmt("/proc/%d/fd/%d", (int)pid, as);
	cleanup_free char *info = str_fmt("/proc/%d/fdinfo/%d", (int)pid, as);
	cleanup_fclose FILE *f = fopen(info, "re");
	struct stat theirs, ours;
	unsigned flags;
	int64_t pos;
	int fd;

	if (!f || fscanf(f, "pos: %" SCNd64 " flags: %o", &pos, &flags) != 2 || stat(path, &theirs))
		return -1;
	if (!fstat(as, &ours) && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino &&
	    fcntl(as, F_GETFL) == (int)(flags & ~(unsigned)O_CLOEXEC) &&
	    (!S_ISREG(ours.st_mode) || lseek(as, 0, SEEK_CUR) == pos))
		return fcntl(as, F_DUPFD_CLOEXEC, FIRST_FD);
	fd = open(path, (int)(flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && S_ISREG(theirs.st_mode))
		lseek(fd, pos, SEEK_SET);
	return fd;
}

static int take_fd(int pidfd, pid_t pid, int as, struct live_start *s, struct err *e)
{
	int got = (int)syscall(SYS_pidfd_getfd, pidfd, as, 0);
	cleanup_close int fd = got < 0 ? take_by_proc(pid, as) : got;
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);

	if (moved < 0)
		return err_errno(e, ERR_HOST, "take over descriptor %d from %s", as, shell_path());
	s->fds = xreallocarray(s->fds, s->nfds + 1, sizeof(s->fds[0]));
	s->fds[s->nfds++] = (struct launch_fd){moved, as};
	return 0;
}

static int take_fds(pid_t pid, struct live_start *s, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/fd", (int)pid);
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_closedir DIR *d = opendir(path);
	struct dirent *de;

	if (pidfd < 0 || !d)
		return err_errno(e, ERR_HOST, "%s", path);
	while ((de = readdir(d)))
		if (isdigit((unsigned char)de->d_name[0]) &&
		    take_fd(pidfd, pid, (int)strtol(de->d_name, NULL, 10), s, e))
			return -1;
	return 0;
}

int live_shell_start(const char *args, const char *cwd, struct live_start *s, struct err *e)
{
	cleanup_free char *command = str_fmt("exec /proc/%d/exe %s", (int)getpid(), args);
	pid_t pid = fork();
	int r, status;

	if (pid < 0)
		return err_fork(e, "fork");
	if (!pid)
		become_shell(command, cwd);
	r = follow(pid, e);
	if (!r)
		r = take_args(pid, s, e) || take_fds(pid, s, e) ? -1 : 0;
	kill(pid, SIGKILL); /* it has executed no instruction of its own */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

void live_start_fini(struct live_start *s)
{
	for (unsigned i = 0; i < s->nfds; i++)
		close(s->fds[i].fd);
	free(s->fds);
	strv_fini(&s->args);
	*s = (struct live_start){0};
}
