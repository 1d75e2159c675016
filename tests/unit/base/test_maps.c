/* SPDX-License-Identifier: MIT */
/* test_maps.c: the mappings of this process. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
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
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
