/* SPDX-License-Identifier: MIT */
/* test_maps.c: the mappings of this process. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/maps.h"
#include "test.h"

#define PAGE 4096

static void test_all(void **state)
{
	cleanup_maps struct maps m = {0};
	struct mapping v;
	uint64_t end = 0;
	bool text = false, stack = false;
	struct err e;

	(void)state;
	assert_int_equal(maps_open(&m, getpid(), &e), 0);
	while (maps_next(&m, &v)) {
		assert_true(v.lo >= end && v.hi > v.lo);
		end = v.hi;
		if (mapping_has(&v, (uint64_t)test_all))
			text = v.exec && v.read && !v.write && !v.shared && v.inode && v.path[0] == '/';
		if (mapping_has(&v, (uint64_t)&text))
			stack = v.write && !v.inode && !strchr(v.path, '/');
	}
	assert_true(text);
	assert_true(stack);
}

static void test_file(void **state)
{
	char name[] = "/tmp/fred maps XXXXXX";
	int fd = mkstemp(name);
	struct mapping v;
	char *p;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 3L * PAGE), 0);
	p = mmap(NULL, 2L * PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
	assert_true(p != MAP_FAILED);
	assert_true(maps_find(getpid(), (uint64_t)p + PAGE, &v));
	assert_int_equal(v.lo, (uint64_t)p);
	assert_int_equal(v.hi, (uint64_t)p + 2L * PAGE);
	assert_int_equal(v.offset, PAGE);
	assert_true(v.shared && v.read && !v.write && !v.exec);
	assert_string_equal(v.path, name);
	unlink(name);
	assert_true(maps_find(getpid(), (uint64_t)p, &v));
	assert_string_equal(v.path + strlen(name), " (deleted)");
	munmap(p, 2L * PAGE);
	close(fd);
}

static pthread_t first;

static void *outlive(void *fd)
{
	pthread_join(first, NULL);
	if (write(*(int *)fd, "", 1) == 1)
		pause();
	return NULL;
}

/* A process whose first thread has ended: under its PID it has no mappings. */
static void test_owner(void **state)
{
	struct mapping v;
	int fd[2];
	pthread_t t;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(maps_owner(getpid()), getpid());
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		first = pthread_self();
		pthread_create(&t, NULL, outlive, &fd[1]);
		pthread_exit(NULL);
	}
	assert_int_equal(read(fd[0], &c, 1), 1);
	/* the kernel tells of the end a moment before it is over */
	while (maps_owner(pid) == pid)
		sched_yield();
	assert_true(maps_find(pid, (uint64_t)test_owner, &v));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(maps_owner(pid), pid);
	close(fd[0]);
	close(fd[1]);
}

static int to_parent[2], to_child[2];

static void *tell_tid(void *arg)
{
	pid_t tid = gettid();

	if (write(to_parent[1], &tid, sizeof(tid)) == sizeof(tid))
		pause();
	return arg;
}

/* A process that ends with status 3 when it hears of it, and a thread of it that is held: nobody can wait for it. */
static pid_t hold_a_thread(pid_t *tid)
{
	siginfo_t info = {0};
	pthread_t t;
	pid_t pid;
	char c;

	assert_int_equal(pipe(to_parent) | pipe(to_child), 0);
	pid = fork();
	if (!pid) {
		pthread_create(&t, NULL, tell_tid, NULL);
		_exit(read(to_child[0], &c, 1) == 1 ? 3 : 4);
	}
	assert_int_equal(read(to_parent[0], tid, sizeof(*tid)), sizeof(*tid));
	assert_int_equal(ptrace(PTRACE_SEIZE, *tid, 0, 0), 0);
	assert_false(maps_is_dead(pid));
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return pid;
}

/* How it has ended, which waitid does not tell yet. */
static int held_end(pid_t pid, pid_t tid)
{
	siginfo_t info = {0};
	int status;

	while (!maps_is_dead(pid))
		sched_yield();
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	assert_int_equal(info.si_pid, 0);
	status = maps_end_status(pid);
	waitpid(tid, NULL, __WALL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(to_parent[i]);
		close(to_child[i]);
	}
	return status;
}

static void test_end(void **state)
{
	pid_t tid, pid = hold_a_thread(&tid);
	int status;

	(void)state;
	assert_int_equal(write(to_child[1], "", 1), 1);
	status = held_end(pid, tid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	pid = hold_a_thread(&tid);
	kill(pid, SIGKILL);
	status = held_end(pid, tid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(maps_end_status(pid), 0);
}

static void test_none(void **state)
{
	cleanup_maps struct maps m = {0};
	struct mapping v;
	struct err e;

	(void)state;
	assert_false(maps_find(getpid(), 8, &v));
	assert_false(maps_find(-1, 8, &v));
	assert_int_equal(maps_open(&m, -1, &e), -1);
	assert_non_null(strstr(e.text, "/proc/-1/maps"));
	assert_false(maps_next(&m, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all), cmocka_unit_test(test_file), cmocka_unit_test(test_owner),
		cmocka_unit_test(test_end), cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
