/* SPDX-License-Identifier: MIT */
/*
 * exec_forms.c: a new image by each call that there is: by path, by descriptor, without a path, relative to a folder, through PATH, as
 * a script; and daemon(), whose process goes on in the background.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char *self_path;

enum how { BY_PATH, BY_FD, AT_FOLDER, AT_EMPTY, THROUGH_PATH, SCRIPT, SCRIPT_ARG, FROM_THREAD, BLOCKED, NO_LIMIT, IN_MEMORY, MISSING, HOWS };
static const char *const names[HOWS] = {"execve", "fexecve", "execveat", "execveat AT_EMPTY_PATH", "execvp",
					"script", "script with argument", "execve in another thread",
					"execve with a signal blocked", "execve without a limit of the stack",
					"execveat of a file in memory", "missing"};

static void make_script(const char *name, const char *first)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	NEED(fd >= 0);
	dprintf(fd, "%s\ntest \"$1\" = word && exit 9\nexit 1\n", first);
	close(fd);
}

static void make_image(enum how how);

/* Gives how many of two signals were blocked before. */
static int block_both(int how)
{
	sigset_t both, old;

	sigemptyset(&both);
	sigaddset(&both, SIGSEGV);
	sigaddset(&both, SIGUSR1);
	CHECK(sigprocmask(how, &both, &old) == 0);
	return sigismember(&old, SIGSEGV) + sigismember(&old, SIGUSR1);
}

/* As high as it may be. */
static rlim_t set_stack_limit(void)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_STACK, &most)) {
		NEED(getrlimit(RLIMIT_STACK, &most) == 0);
		most.rlim_cur = most.rlim_max;
		NEED(setrlimit(RLIMIT_STACK, &most) == 0);
	}
	return most.rlim_cur;
}

static rlim_t stack_limit(void)
{
	struct rlimit r;

	NEED(getrlimit(RLIMIT_STACK, &r) == 0);
	return r.rlim_cur;
}

static void *make_by_path(void *arg)
{
	make_image(BY_PATH);
	return arg;
}

static void make_image(enum how how)
{
	pthread_t t;
	char *argv[] = {"image", "word", NULL}, *envp[] = {"A=b", NULL};
	int fd;

	switch (how) {
	case BY_PATH:
		execve(self_path, argv, envp);
		break;
	case BLOCKED: /* of which the recorder needs one itself, at times */
		argv[1] = "blocked";
		block_both(SIG_BLOCK);
		execve(self_path, argv, envp);
		break;
	case NO_LIMIT: /* the kernel then maps from the bottom up */
		argv[1] = set_stack_limit() == RLIM_INFINITY ? "unlimited" : "word";
		execve(self_path, argv, envp);
		break;
	case IN_MEMORY:
		fd = memfd_create("copy", MFD_CLOEXEC);
		NEED(sendfile(fd, open(self_path, O_RDONLY | O_CLOEXEC), NULL, 1 << 30) > 0);
		syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
		break;
	case BY_FD:
		fd = open(self_path, O_RDONLY | O_CLOEXEC);
		fexecve(fd, argv, envp);
		break;
	case AT_FOLDER:
		fd = open(".", O_RDONLY | O_DIRECTORY);
		NEED(symlink(self_path, "link") == 0);
		syscall(SYS_execveat, fd, "link", argv, envp, 0);
		break;
	case AT_EMPTY:
		fd = open(self_path, O_PATH | O_CLOEXEC);
		syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
		break;
	case THROUGH_PATH:
		execlp("sh", "sh", "-c", "test \"$0\" = word && exit 9", "word", NULL);
		break;
	case SCRIPT:
		make_script("script", "#!/bin/sh");
		execve("./script", argv, envp);
		break;
	case SCRIPT_ARG:
		make_script("script2", "#! /bin/sh -e");
		execve("./script2", argv, envp);
		break;
	case FROM_THREAD:
		NEED(pthread_create(&t, NULL, make_by_path, NULL) == 0);
		for (;;)
			pause();
	default:
		CHECK(execve("/nowhere", argv, envp) == -1 && errno == ENOENT);
		CHECK(execve("/etc/passwd", argv, envp) == -1 && errno == EACCES);
		_exit(check_status() ? 1 : 9);
	}
	_exit(2);
}

static void test_daemon(void)
{
	int p[2], status = -1;
	char c = 0;

	CHECK(pipe(p) == 0);
	if (fork() == 0) {
		CHECK(daemon(1, 1) == 0);
		c = check_status() ? 'n' : getsid(0) == getpid() || getppid() != 0 ? 'y' : 'n';
		_exit(write(p[1], &c, 1) != 1);
	}
	close(p[1]);
	CHECK(wait(&status) > 0 && status == 0);
	CHECK(read(p[0], &c, 1) == 1 && c == 'y');
	CHECK(read(p[0], &c, 1) == 0);
	close(p[0]);
	step("daemon");
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1 && !strcmp(argv[1], "blocked"))
		return block_both(SIG_UNBLOCK) == 2 && block_both(SIG_BLOCK) == 0 ? 9 : 1;
	if (argc > 1 && !strcmp(argv[1], "unlimited"))
		return stack_limit() == RLIM_INFINITY ? 9 : 1;
	if (argc > 1)
		return strcmp(argv[1], "word") || !getenv("A") ? 1 : 9;
	self_path = realpath("/proc/self/exe", NULL);
	NEED(self_path);
	for (int how = 0; how < HOWS; how++) {
		status = -1;
		fflush(stdout);
		if (fork() == 0)
			make_image((enum how)how);
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 9);
		step(names[how]);
	}
	test_daemon();
	free(self_path);
	return check_status();
}
