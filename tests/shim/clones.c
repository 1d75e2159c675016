/* SPDX-License-Identifier: MIT */
/* clones.c: processes in all the ways there are: daemons, orphans, clone with its flags, pidfds, process groups. */
#include "check.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static int ended(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, __WALL) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_daemon(void)
{
	char text[64] = "";
	int ends[2];
	pid_t pid;

	NEED(pipe(ends) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		if (daemon(1, 1))
			_exit(1);
		/* the parent has ended: another process, a session of its own */
		snprintf(text, sizeof(text), "%d %d", getsid(0) != getpid(), getppid() != pid);
		_exit(write(ends[1], text, strlen(text)) < 0);
	}
	close(ends[1]);
	CHECK(ended(pid) == 0);
	CHECK(read(ends[0], text, sizeof(text)) == 3);
	CHECK(!strcmp(text, "0 1"));
	CHECK(read(ends[0], text, sizeof(text)) == 0);
	close(ends[0]);
	step("daemon");
}

static void test_orphan(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	NEED(pipe(ends) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) == 1 ? 5 : 6);
		}
		_exit(0);
	}
	CHECK(ended(pid) == 0 && write(ends[1], "g", 1) == 1);
	pid = wait(&(int){0});
	CHECK(pid > 0 && wait(NULL) == -1 && errno == ECHILD);
	close(ends[0]), close(ends[1]);
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
	step("orphan");
}

static long clone3_(struct clone_args *c)
{
	return syscall(SYS_clone3, c, sizeof(*c));
}

static void test_pidfd(void)
{
	int fd = -1, status;
	struct clone_args c = {.flags = CLONE_PIDFD, .pidfd = (uint64_t)&fd, .exit_signal = SIGCHLD};
	struct pollfd p = {.events = POLLIN};
	siginfo_t si = {0};
	pid_t pid = (pid_t)clone3_(&c);

	NEED(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	CHECK(fd >= 3 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	p.fd = fd;
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0);
	CHECK(poll(&p, 1, 10000) == 1);
	CHECK(waitid(P_PIDFD, (id_t)fd, &si, WEXITED) == 0 && si.si_pid == pid && si.si_status == SIGTERM);
	close(fd);
	pid = fork();
	if (pid == 0)
		_exit(3);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.fd = fd;
	CHECK(fd >= 0 && poll(&p, 1, 10000) == 1 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	CHECK(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == -1 && errno == ESRCH);
	close(fd);
	step("pidfd");
}

static void test_flags(void)
{
	struct clone_args c = {.exit_signal = 0};
	pid_t parent = 0, pid;
	int shared[2];

	pid = (pid_t)clone3_(&c);
	if (pid == 0)
		_exit(4);
	CHECK(waitpid(pid, NULL, 0) == -1 && errno == ECHILD); /* no signal: only for those who ask so */
	CHECK(ended(pid) == 4);
	c = (struct clone_args){.flags = CLONE_PARENT_SETTID, .parent_tid = (uint64_t)&parent, .exit_signal = SIGCHLD};
	pid = (pid_t)clone3_(&c);
	if (pid == 0)
		_exit(6);
	CHECK(parent == pid && ended(pid) == 6);
	c = (struct clone_args){.flags = CLONE_FILES, .exit_signal = SIGCHLD};
	NEED(pipe(shared) == 0);
	pid = (pid_t)clone3_(&c);
	if (pid == 0) {
		close(shared[0]);
		_exit(7);
	}
	CHECK(ended(pid) == 7 && close(shared[0]) == -1 && errno == EBADF && close(shared[1]) == 0);
	pid = fork();
	if (pid == 0) {
		c = (struct clone_args){.flags = CLONE_PARENT};
		pid = (pid_t)clone3_(&c);
		_exit(pid == 0 ? 8 : pid > 0 ? 9 : 10);
	}
	CHECK(ended(pid) == 9);
	CHECK(waitpid(-1, &shared[0], __WALL) > 0 && WEXITSTATUS(shared[0]) == 8);
	pid = (pid_t)syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, 0, 0, 0, 0); /* nothing of libc's works there */
	if (pid == 0)
		syscall(SYS_exit_group, 15);
	CHECK(ended(pid) == 15);
	step("flags");
}

/* A child that shares memory and handlers, and whose parent waits, as libc's clone starts one. */
static int start_self(void *arg)
{
	if (arg)
		execl("/proc/self/exe", "clones", "started", NULL);
	_exit(13);
}

static void test_sharing(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t child = 0, pid;

	for (long exec = 0; exec < 2; exec++) {
		pid = clone(start_self, stack + sizeof(stack),
			    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD,
			    (void *)exec, &child);
		CHECK(pid > 0 && child == pid && ended(pid) == (exec ? 14 : 13));
	}
	step("sharing memory until the exec");
}

/* Killed at some moment between their start and their end: what they have recorded until then is replayed. */
static void test_killed_early(void)
{
	int status = 0, sum = 0;

	for (int i = 0; i < 24; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0) {
			execl("/proc/self/exe", "clones", "started", NULL);
			_exit(1);
		}
		for (volatile int k = 0; k < i * 120000; k++)
			;
		CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
		sum += WIFSIGNALED(status) ? 1 : WEXITSTATUS(status) == 14 ? 2 : 100;
	}
	CHECK(sum <= 48);
	step("killed early");
}

static void test_groups(void)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	NEED(pipe(ends) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		for (int i = 0; i < 2; i++)
			if (fork() == 0)
				break;
		if (write(ends[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < 3; i++)
		CHECK(read(ends[0], &byte, 1) == 1);
	CHECK(getpgid(pid) == pid && getsid(pid) == getsid(0));
	CHECK(kill(-pid, SIGUSR2) == 0);
	CHECK(waitpid(-pid, &status, 0) == pid && WTERMSIG(status) == SIGUSR2);
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 0); /* all of them have ended */
	close(ends[0]);
	step("process groups");
}

static int inside(void)
{
	struct utsname u;

	if (getuid() != 0)
		return 0;
	CHECK(unshare(CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) == 0);
	CHECK(sethostname("elsewhere", 9) == 0 && uname(&u) == 0 && !strcmp(u.nodename, "elsewhere"));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", ".", "tmpfs", 0, "size=64k") == 0);
	CHECK(chdir("/") == 0);
	CHECK(unshare(CLONE_FILES | CLONE_FS) == 0);
	return check_status();
}

static void test_namespaces(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	struct clone_args c = {.flags = CLONE_NEWUTS | CLONE_NEWNS, .exit_signal = SIGCHLD};
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0)
		_exit(inside());
	CHECK(ended(pid) == 0);
	if (getuid() == 0) {
		CHECK(fd >= 0 && setns(fd, CLONE_NEWUTS) == 0);
		pid = (pid_t)clone3_(&c);
		if (pid == 0)
			_exit(sethostname("x", 1) == 0 ? 11 : 12);
		CHECK(ended(pid) == 11);
	}
	close(fd);
	step("namespaces");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 14;
	test_daemon();
	test_orphan();
	test_pidfd();
	test_flags();
	test_sharing();
	test_killed_early();
	test_groups();
	test_namespaces();
	return check_status();
}
