/* SPDX-License-Identifier: MIT */
/*
 * sandboxed.c: children that lose more than their user: files that may not grow, no descriptors, no processes, another
 * network namespace, a read-only root, an overlay over it. What they do then is recorded as before.
 *
 * NOTES: that a program in a root without the recorder's library is not recorded
 */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NOBODY 65534
#define READS 40 /* of a page each: more than the first window of a log */

static int zero;

static void *work(void *arg)
{
	char buf[4096];

	for (int i = 0; i < READS; i++) {
		syscall(SYS_getrandom, buf, sizeof(buf), 0);
		CHECK(read(zero, buf, sizeof(buf)) == sizeof(buf));
	}
	return arg;
}

static int child_status(pid_t pid)
{
	int status = -1;

	NEED(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int in_child(void (*fn)(void))
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0) {
		fn();
		_exit(check_status());
	}
	return child_status(pid);
}

static void nothing(void)
{
	work(NULL);
}

/* More log, more threads, more processes. */
static void go_on(void)
{
	pthread_t t;

	work(NULL);
	for (int i = 0; i < 3; i++) {
		NEED(pthread_create(&t, NULL, work, NULL) == 0);
		NEED(pthread_join(t, NULL) == 0);
	}
	CHECK(in_child(nothing) == 0);
}

static void run_true(void)
{
	execl("/bin/true", "true", NULL);
}

static void limit(int which, rlim_t cur, rlim_t max)
{
	struct rlimit l = {cur, max};

	CHECK(setrlimit(which, &l) == 0);
}

static void files_do_not_grow(void)
{
	int fd = open("out", O_RDWR | O_CREAT, 0600);
	char line[256];
	FILE *f;

	signal(SIGXFSZ, SIG_DFL);
	limit(RLIMIT_FSIZE, 0, 0);
	go_on();
	f = fopen("/etc/services", "r"); /* copied into the recording */
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK(in_child(run_true) == 0);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("/bin/true", O_RDONLY), 0) != MAP_FAILED);
	signal(SIGXFSZ, SIG_IGN);
	CHECK(write(fd, "x", 1) == -1 && errno == EFBIG);
}

static void no_files(rlim_t n)
{
	struct rlimit l = {0, 0};

	limit(RLIMIT_NOFILE, n, n);
	CHECK(open("/dev/zero", O_RDONLY) == -1 && errno == EMFILE);
	CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur == n && l.rlim_max == n);
	CHECK(prlimit(0, RLIMIT_NOFILE, NULL, &l) == 0 && l.rlim_cur == n && l.rlim_max == n);
	l.rlim_cur = n + 1;
	CHECK(setrlimit(RLIMIT_NOFILE, &l) == -1 && errno == EINVAL);
	l.rlim_max = n + 2;
	CHECK(setrlimit(RLIMIT_NOFILE, &l) == -1 && errno == EPERM);
	CHECK(syscall(SYS_getrlimit, RLIMIT_NOFILE, (void *)8) == -1 && errno == EFAULT);
	go_on();
}

static void no_rights(void)
{
	NEED(chroot("jail") == 0 && chdir("/") == 0);
	NEED(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void as_nobody(void)
{
	no_rights();
	no_files(1);
}

static void no_file_at_all(void)
{
	no_rights();
	limit(RLIMIT_FSIZE, 0, 0);
	no_files(0);
}

/* As sshd's child before the login. */
static void all_of_it(void)
{
	no_rights();
	limit(RLIMIT_FSIZE, 0, 0);
	limit(RLIMIT_NOFILE, 1, 1);
	limit(RLIMIT_NPROC, 0, 0);
	for (int i = 0; i < 10; i++)
		work(NULL);
	CHECK(fork() == -1 && errno == EAGAIN);
	CHECK(open("/x", O_RDONLY) == -1 && errno == EMFILE);
}

static void other_network(void)
{
	CHECK(unshare(CLONE_NEWNET) == 0);
	NEED(chroot("jail") == 0 && chdir("/") == 0);
	go_on();
}

static void back_again(void)
{
	int was = open("/proc/self/ns/net", O_RDONLY);

	CHECK(unshare(CLONE_NEWNET) == 0 && setns(was, CLONE_NEWNET) == 0);
	CHECK(unshare(CLONE_NEWNET | CLONE_NEWNS) == 0);
	NEED(chroot("jail") == 0 && chdir("/") == 0);
	go_on();
}

static void cloned(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | SIGCHLD, 0, 0, 0, 0);

	NEED(pid >= 0);
	if (pid == 0) {
		NEED(chroot("jail") == 0 && chdir("/") == 0);
		go_on();
		_exit(check_status());
	}
	CHECK(child_status(pid) == 0);
}

static void own_mounts(void)
{
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static void read_only(void)
{
	own_mounts();
	CHECK(mount("/", "root", NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount(NULL, "root", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
	NEED(chdir("root") == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0);
	CHECK(open("/tmp/sandboxed.new", O_WRONLY | O_CREAT, 0600) == -1);
	go_on();
	CHECK(in_child(run_true) == 0);
}

static void hidden_root(void)
{
	own_mounts();
	CHECK(mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0);
	CHECK(unshare(CLONE_NEWNET) == 0);
	go_on();
	CHECK(in_child(run_true) == 0);
}

/* Logs are not written into its upper folder. */
static void overlay(void)
{
	own_mounts();
	CHECK(mount("tmpfs", "layers", "tmpfs", 0, NULL) == 0);
	CHECK(mkdir("layers/up", 0700) == 0 && mkdir("layers/work", 0700) == 0);
	CHECK(mount("overlay", "root", "overlay", 0, "lowerdir=/,upperdir=layers/up,workdir=layers/work") == 0);
	NEED(chroot("root") == 0 && chdir("/") == 0);
	go_on();
	CHECK(in_child(nothing) == 0);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{"files that do not grow", files_do_not_grow},
	{"one descriptor", as_nobody},
	{"no descriptor", no_file_at_all},
	{"no descriptor, no process, no file", all_of_it},
	{"another network namespace", other_network},
	{"there, back and elsewhere", back_again},
	{"clone into another network namespace", cloned},
	{"a read-only root", read_only},
	{"another file system over /tmp", hidden_root},
	{"an overlay", overlay},
};

int main(void)
{
	if (geteuid() != 0) {
		step("skipped: not root");
		return check_status();
	}
	NEED(mkdir("jail", 0755) == 0 && mkdir("root", 0755) == 0 && mkdir("layers", 0755) == 0);
	zero = open("/dev/zero", O_RDONLY);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		CHECK(in_child(ways[i].fn) == 0);
		step(ways[i].name);
	}
	return check_status();
}
