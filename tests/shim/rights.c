/* SPDX-License-Identifier: MIT */
/*
 * rights.c: servers give up their rights after the start: user, groups, capabilities, the file system. What they
 * do then, new threads and processes and programs included, is recorded as before.
 * NOTES: a program that they start is not recorded, where fred lies in a folder that only root can read
 */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NOBODY 65534

static void *work(void *arg)
{
	char buf[4096];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; fd >= 0 && i < 40; i++)
		CHECK(read(fd, buf, sizeof(buf)) == sizeof(buf));
	close(fd);
	return arg;
}

/* More threads and more log than were there when the rights were given up. */
static void go_on(void)
{
	pthread_t t;

	work(NULL);
	for (int i = 0; i < 3; i++) {
		NEED(pthread_create(&t, NULL, work, NULL) == 0);
		NEED(pthread_join(t, NULL) == 0);
	}
}

static int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	NEED(pid >= 0);
	if (pid == 0) {
		fn();
		_exit(check_status());
	}
	NEED(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void exec_shell(void)
{
	execl("/bin/sh", "sh", "-c", "exit $(id -u | cut -c1-2)", (char *)NULL);
	_exit(99);
}

static int *shared;

static void write_shared(void)
{
	*shared = 7;
}

/* Memory that processes share is followed from the first fork behind it on. */
static void share(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	CHECK(in_child(write_shared) == 0 && *shared == 7);
}

static sem_t idle, leave;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *wait_idle(void *arg)
{
	uid_t r, e, s;

	sem_post(&idle);
	while (sem_wait(&leave))
		;
	CHECK(getresuid(&r, &e, &s) == 0 && r == NOBODY && e == NOBODY && s == NOBODY);
	return arg;
}

static void *compute(void *arg)
{
	unsigned long n = 1;

	for (int ends = 0; !ends;) {
		for (int i = 0; i < 100000; i++)
			n = n * 31 + (n >> 7);
		pthread_mutex_lock(&done_lock);
		ends = done;
		pthread_mutex_unlock(&done_lock);
	}
	CHECK(n != 0);
	return arg;
}

/* libc tells each of them, by a signal, to change its own. */
static void drop_user_of_threads(void)
{
	pthread_t t[6];

	NEED(sem_init(&idle, 0, 0) == 0 && sem_init(&leave, 0, 0) == 0);
	for (int i = 0; i < 6; i++)
		NEED(pthread_create(&t[i], NULL, i < 4 ? wait_idle : compute, NULL) == 0);
	for (int i = 0; i < 4; i++)
		sem_wait(&idle);
	for (int i = 0; i < 20; i++)
		CHECK(seteuid(i % 2 ? 0 : NOBODY) == 0 && geteuid() == (i % 2 ? 0 : NOBODY));
	CHECK(initgroups("root", 0) == 0 && setgroups(0, NULL) == 0 && getgroups(0, NULL) == 0);
	CHECK(setgid(NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	CHECK(setuid(0) == -1 && errno == EPERM);
	for (int i = 0; i < 4; i++)
		sem_post(&leave);
	pthread_mutex_lock(&done_lock);
	done = 1;
	pthread_mutex_unlock(&done_lock);
	for (int i = 0; i < 6; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	go_on();
}

static void drop_user(void)
{
	gid_t groups[4];
	uid_t r, e, s;

	CHECK(setgroups(0, NULL) == 0 && getgroups(4, groups) == 0);
	CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
	CHECK(getresuid(&r, &e, &s) == 0 && r == NOBODY && e == NOBODY && s == NOBODY);
	CHECK(setuid(0) == -1 && errno == EPERM);
	CHECK(open("/etc/shadow", O_RDONLY) == -1 && errno == EACCES);
	go_on();
	CHECK(in_child(go_on) == 0);
	CHECK(in_child(exec_shell) == 65);
	share();
}

static void drop_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2], none[2] = {{0}, {0}};

	CHECK(syscall(SYS_capget, &head, data) == 0 && data[0].effective);
	CHECK(prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT, 0, 0, 0) == 0);
	CHECK(prctl(PR_CAPBSET_READ, CAP_SYS_BOOT, 0, 0, 0) == 0);
	CHECK(syscall(SYS_capset, &head, none) == 0);
	CHECK(syscall(SYS_capget, &head, data) == 0 && !data[0].effective);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(chown(".", 1, 1) == -1 && errno == EPERM);
	go_on();
}

static void change_root(void)
{
	struct stat st;
	int dev;

	NEED(mkdir("jail", 0755) == 0 && mkdir("jail/dev", 0755) == 0);
	dev = mknod("jail/dev/zero", S_IFCHR | 0666, (1 << 8) | 5);
	CHECK(dev == 0);
	CHECK(chroot("jail") == 0 && chdir("/") == 0);
	CHECK(stat("/dev/zero", &st) == 0 && stat("/etc", &st) == -1 && errno == ENOENT);
	go_on();
	CHECK(in_child(go_on) == 0);
	CHECK(setuid(NOBODY) == 0);
	go_on();
}

int main(void)
{
	if (getuid() != 0) { /* nothing to give up */
		CHECK(setuid(0) == -1 && errno == EPERM);
		return check_status();
	}
	CHECK(in_child(drop_user) == 0);
	CHECK(in_child(drop_user_of_threads) == 0);
	step("user and groups");
	CHECK(in_child(drop_caps) == 0);
	step("capabilities");
	CHECK(in_child(change_root) == 0);
	step("chroot");
	umask(0);
	return check_status();
}
