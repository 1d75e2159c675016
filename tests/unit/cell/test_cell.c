/* SPDX-License-Identifier: MIT */
/*
 * test_cell.c: what a cell is inside, and that it ends when it should. Each check runs as the pid
 * 1 of a real cell and returns 0, or the line that failed (its low 7 bits, never 0).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"
#include "cell/userns.h"

#define TMPFS_MAGIC 0x01021994
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "# %s:%d: %s: %m\n", __FILE__, __LINE__, #x);              \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static int have_caps(void)
{
	return userns_has_admin();
}

/* Runs check in a cell and expects 0. */
static void in_cell(int (*check)(void *), void *arg)
{
	struct err e = {0};
	struct cell c;
	int status;

	if (!have_caps()) {
		print_message("not root: no cells\n");
		skip();
	}
	if (cell_start(check, arg, &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(cell_join(&c, &status, &e), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int check_pids(void *arg)
{
	char link[32] = {0};

	CHECK(getpid() == 1);
	CHECK(syscall(SYS_gettid) == 1);
	CHECK(readlink("/proc/self", link, sizeof(link) - 1) > 0 && !strcmp(link, "1"));
	/* libc knows its new TID too: raise uses it. */
	signal(SIGUSR1, SIG_IGN);
	CHECK(!raise(SIGUSR1));
	return 0;
}

static void test_pids(void **state)
{
	in_cell(check_pids, NULL);
}

static int check_run(void *arg)
{
	struct statfs fs;
	struct stat st;

	CHECK(!statfs("/run", &fs) && fs.f_type == TMPFS_MAGIC);
	CHECK(!stat(CELL_RUN_DIR, &st) && S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0700);
	CHECK(!mkdir("/run/fred-test-only-inside", 0700));
	return 0;
}

static void test_run(void **state)
{
	in_cell(check_run, NULL);
	assert_int_equal(access("/run/fred-test-only-inside", F_OK), -1);
	/* A second cell starts with a fresh /run. */
	in_cell(check_run, NULL);
}

static int check_lo(void *arg)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK(!ioctl(fd, SIOCGIFFLAGS, &ifr));
	CHECK(ifr.ifr_flags & IFF_UP);
	CHECK(if_nametoindex("lo") == 1);
	CHECK(!if_nametoindex("eth0"));
	return 0;
}

static void test_lo(void **state)
{
	in_cell(check_lo, NULL);
}

static int check_signals(void *arg)
{
	struct sigaction sa;
	sigset_t mask;

	CHECK(!sigaction(SIGTERM, NULL, &sa) && sa.sa_handler == SIG_DFL);
	CHECK(!sigaction(SIGUSR2, NULL, &sa) && sa.sa_handler == SIG_DFL);
	CHECK(!sigprocmask(SIG_SETMASK, NULL, &mask));
	CHECK(!sigismember(&mask, SIGINT));
	return 0;
}

static void test_signals(void **state)
{
	sigset_t block, old;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, &old);
	signal(SIGUSR2, SIG_IGN);
	in_cell(check_signals, NULL);
	signal(SIGUSR2, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static int check_bind(void *arg)
{
	const char *src = arg;
	struct err e = {0};

	CHECK(!cell_mount_bind(src, CELL_RUN_DIR "/rec", 1, &e));
	CHECK(!access(CELL_RUN_DIR "/rec/marker", R_OK));
	CHECK(open(CELL_RUN_DIR "/rec/marker", O_WRONLY) == -1 && errno == EROFS);
	CHECK(cell_mount_bind("/nonexistent", CELL_RUN_DIR "/x", 0, &e) == -1);
	CHECK(e.kind == ERR_HOST && strstr(e.text, "/nonexistent"));
	return 0;
}

static void test_bind(void **state)
{
	char dir[] = "/tmp/fred-test-cell-XXXXXX", marker[64];

	assert_non_null(mkdtemp(dir));
	snprintf(marker, sizeof(marker), "%s/marker", dir);
	close(open(marker, O_WRONLY | O_CREAT, 0600));
	in_cell(check_bind, dir);
	assert_int_equal(unlink(marker), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Every line of mountinfo has the mount it lies on, but one: "/" itself, without "shared:". */
static int check_root(void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[4096], *point;
	int roots = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		CHECK(!strstr(line, " shared:"));
		CHECK(strtok(line, " ") && strtok(NULL, " ") && strtok(NULL, " ") && strtok(NULL, " "));
		point = strtok(NULL, " ");
		roots += point && !strcmp(point, "/");
	}
	fclose(f);
	CHECK(roots == 1);
	CHECK(!access("/marker", F_OK) == !!arg);
	return 0;
}

static void test_root(void **state)
{
	in_cell(check_root, NULL);
}

/* A folder that is no mount becomes the root, with /proc and /run, as after chroot(8). */
static int enter_chroot(const char *dir)
{
	CHECK(!unshare(CLONE_NEWNS));
	CHECK(!mount("tmpfs", dir, "tmpfs", 0, NULL));
	/* as systemd leaves it: what is mounted in the chroot would show outside */
	CHECK(!mount(NULL, dir, NULL, MS_SHARED, NULL));
	CHECK(!chdir(dir) && !mkdir("top", 0755) && !chdir("top"));
	CHECK(!mkdir("proc", 0755) && !mkdir("run", 0755));
	CHECK(!close(open("marker", O_WRONLY | O_CREAT, 0600)));
	CHECK(!mount("/proc", "proc", NULL, MS_BIND, NULL));
	CHECK(!chroot(".") && !chdir("/"));
	return 0;
}

static void test_chroot(void **state)
{
	char dir[] = "/tmp/fred-test-cell-XXXXXX";
	struct err e = {0};
	struct cell c;
	int status;
	pid_t pid;

	if (!have_caps())
		skip();
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		if (enter_chroot(dir))
			_exit(2);
		if (cell_start(check_root, dir, &c, &e) || cell_join(&c, &status, &e)) {
			fprintf(stderr, "# %s\n", e.text);
			_exit(3);
		}
		_exit(status != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rmdir(dir), 0);
}

static int check_last_pid(void *arg)
{
	struct err e = {0};
	pid_t pid;
	int status;

	CHECK(!cell_set_last_pid(20000, &e));
	pid = fork();
	if (!pid)
		_exit(3);
	CHECK(pid == 20001);
	CHECK(!cell_wait_pid(pid, &status, &e) && WEXITSTATUS(status) == 3);
	return 0;
}

static void test_last_pid(void **state)
{
	in_cell(check_last_pid, NULL);
}

/* An orphan and a child of ours die; only the orphan is reaped. */
static int check_reap(void *arg)
{
	pid_t ours = fork(), middle;
	siginfo_t si;
	int fds[2];
	char c;

	if (!ours)
		_exit(0);
	CHECK(!waitid(P_PID, ours, &si, WEXITED | WNOWAIT));
	CHECK(!pipe(fds));
	middle = fork();
	if (!middle) {
		if (!fork()) {
			while (getppid() != 1)
				sched_yield();
			_exit(0);
		}
		_exit(0);
	}
	close(fds[1]);
	CHECK(waitpid(middle, NULL, 0) == middle);
	CHECK(read(fds[0], &c, 1) == 0); /* the orphan held the other end: it is dead or dying */
	while (!cell_reap_except(&ours, 1))
		sched_yield();
	CHECK(cell_reap_except(&ours, 1) == 0);
	CHECK(waitpid(ours, NULL, 0) == ours);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

static void test_reap(void **state)
{
	in_cell(check_reap, NULL);
}

/* A process with this PID that ends at once: its PID, or -1. */
static pid_t fork_as(pid_t want)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&want, .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		_exit(0);
	return (pid_t)pid;
}

/* While a process's orphan is in its session, its PID stays taken. */
static int check_free_pid(void *arg)
{
	pid_t leader;
	int ready[2];
	char c;

	CHECK(!pipe(ready));
	leader = fork();
	if (!leader) {
		setsid();
		if (!fork() && write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &c, 1) == 1);
	cell_free_pid(leader);
	CHECK(waitpid(leader, NULL, WNOHANG) == 0); /* it lives, so it was let alone */
	CHECK(!kill(leader, SIGKILL) && waitpid(leader, NULL, 0) == leader);
	CHECK(fork_as(leader) == -1 && errno == EEXIST);
	cell_free_pid(leader);
	CHECK(fork_as(leader) == leader && waitpid(leader, NULL, 0) == leader);
	cell_free_pid(leader);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

static void test_free_pid(void **state)
{
	in_cell(check_free_pid, NULL);
}

static int sleeper(void *arg)
{
	int *fds = arg;

	/* A grandchild holds the pipe too: it must die with the cell. */
	if (!fork())
		for (;;)
			pause();
	close(fds[0]);
	if (write(fds[1], "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static void expect_eof(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(read(fd, &c, 1), 0);
}

static void test_kill(void **state)
{
	struct err e = {0};
	struct cell c;
	int fds[2];
	char x;

	if (!have_caps())
		skip();
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(cell_start(sleeper, fds, &c, &e), 0);
	close(fds[1]);
	assert_int_equal(read(fds[0], &x, 1), 1);
	assert_int_equal(WTERMSIG(cell_kill(&c)), SIGKILL);
	assert_int_equal(c.pid, 0);
	assert_int_equal(c.pidfd, -1);
	expect_eof(fds[0]);
	close(fds[0]);
}

/* kill -9 of the process that started the cell ends the cell. */
static void test_daemon_dies(void **state)
{
	pid_t daemon;
	int fds[2];
	char x;

	if (!have_caps())
		skip();
	assert_int_equal(pipe(fds), 0);
	daemon = fork();
	if (!daemon) {
		struct err e = {0};
		struct cell c;

		if (cell_start(sleeper, fds, &c, &e))
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &x, 1), 1);
	kill(daemon, SIGKILL);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
	expect_eof(fds[0]);
	close(fds[0]);
}

/* The caller's own later children stay in its own PID namespace. */
static void test_caller_unchanged(void **state)
{
	struct stat before, after;

	stat("/proc/self/ns/pid_for_children", &before);
	in_cell(check_pids, NULL);
	stat("/proc/self/ns/pid_for_children", &after);
	assert_int_equal(before.st_ino, after.st_ino);
	pid_t pid = fork();

	if (!pid)
		_exit(getpid() == 1);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int fails(void *arg)
{
	return 42;
}

static void test_status(void **state)
{
	struct err e = {0};
	struct pollfd p;
	struct cell c;
	int status;

	if (!have_caps())
		skip();
	assert_int_equal(cell_start(fails, NULL, &c, &e), 0);
	p = (struct pollfd){.fd = c.pidfd, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(cell_join(&c, &status, &e), 0);
	assert_int_equal(WEXITSTATUS(status), 42);
}

static void test_no_privilege(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct err e = {0};
		struct cell c;

		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		if (cell_start(fails, NULL, &c, &e) != -1 || e.kind != ERR_HOST)
			_exit(3);
		_exit(!strstr(e.text, "CAP_SYS_ADMIN"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_lo),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_chroot),
		cmocka_unit_test(test_last_pid),
		cmocka_unit_test(test_reap),
		cmocka_unit_test(test_free_pid),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_daemon_dies),
		cmocka_unit_test(test_caller_unchanged),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_no_privilege),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
