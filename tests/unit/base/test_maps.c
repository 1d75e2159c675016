/* SPDX-License-Identifier: MIT */
/* test_maps.c: the mappings of this process. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
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
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
