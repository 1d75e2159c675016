// SPDX-License-Identifier: MIT
/* test_paths.c: names of recordings: new ones, the latest, and what is refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "client/paths.h"

static int setup(void **state)
{
	char dir[] = "/tmp/fred-test-XXXXXX";

	if (!mkdtemp(dir) || setenv("FRED_HOME", dir, 1))
		return -1;
	*state = xstrdup(dir);
	return 0;
}

static int teardown(void **state)
{
	struct err e;
	int r = rm_rf(*state, &e);

	free(*state);
	return r;
}

/* Makes dir a recording whose meta.json was written at this second. */
static void add_meta(const char *dir, time_t when)
{
	const struct timespec ts[2] = {{when, 0}, {when, 0}};
	cleanup_free char *meta = path_join(dir, "meta.json");
	struct err e;

	assert_int_equal(write_file(meta, "{}", 2, 0600, &e), 0);
	assert_int_equal(utimensat(AT_FDCWD, meta, ts, 0), 0);
}

static void numbered(void **state)
{
	static const char *const names[] = {"sort-1", "sort-2", "sort-3"};
	struct stat st;
	struct err e;

	for (size_t i = 0; i < 3; i++) {
		cleanup_free char *dir = paths_new_recording(NULL, "/usr/bin/sort", &e);

		assert_non_null(dir);
		assert_string_equal(path_base(dir), names[i]);
		assert_int_equal(stat(dir, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0700);
	}
}

/* Numbers of removed recordings are not given again while a later one exists. */
static void numbers_go_on(void **state)
{
	cleanup_free char *first = NULL, *second = NULL, *third = NULL;
	struct err e;

	first = paths_new_recording(NULL, "a", &e);
	second = paths_new_recording(NULL, "a", &e);
	assert_int_equal(rmdir(first), 0);
	third = paths_new_recording(NULL, "a", &e);
	assert_string_equal(path_base(third), "a-3");
}

static void odd_names(void **state)
{
	cleanup_free char *dir = NULL;
	struct err e;

	dir = paths_new_recording(NULL, "/x/.a b;$(rm -rf)'\n", &e);
	assert_non_null(dir);
	assert_string_equal(path_base(dir), "_a_b___rm_-rf___-1");
}

static void latest_is_by_time(void **state)
{
	cleanup_free char *a = NULL, *b = NULL, *found = NULL, *again = NULL;
	struct err e = {0};

	assert_null(paths_recording(NULL, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	a = paths_new_recording(NULL, "z", &e);
	b = paths_new_recording(NULL, "a", &e);
	assert_null(paths_recording(NULL, &e)); /* empty folders are none */
	add_meta(a, 2000);
	add_meta(b, 1000);
	found = paths_recording(NULL, &e);
	assert_string_equal(found, a);
	add_meta(b, 3000);
	again = paths_recording(NULL, &e);
	assert_string_equal(again, b);
}

static void by_name_and_directory(void **state)
{
	cleanup_free char *a = NULL, *by_name = NULL, *by_dir = NULL;
	struct err e = {0};

	a = paths_new_recording(NULL, "a", &e);
	add_meta(a, 1000);
	by_name = paths_recording("a-1", &e);
	by_dir = paths_recording(a, &e);
	assert_string_equal(by_name, a);
	assert_string_equal(by_dir, a);
	assert_true(paths_is_recording("a-1"));
	assert_false(paths_is_recording("a-2"));
	assert_false(paths_is_recording("x + 1"));
	assert_false(paths_is_recording(".."));
	assert_false(paths_is_recording(""));
}

static void wanted_directory(void **state)
{
	cleanup_free char *want = path_join(*state, "new/dir");
	cleanup_free char *file = path_join(*state, "new/dir/file");
	cleanup_free char *dir = NULL, *again = NULL;
	struct err e = {0};

	dir = paths_new_recording(want, "a", &e);
	assert_string_equal(dir, want);
	again = paths_new_recording(want, "a", &e); /* empty: taken */
	assert_non_null(again);
	assert_int_equal(write_file(file, "x", 1, 0600, &e), 0);
	assert_null(paths_new_recording(want, "a", &e));
	assert_non_null(strstr(e.text, "not empty"));
	assert_null(paths_new_recording(file, "a", &e));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbered),		 TEST(numbers_go_on), TEST(odd_names),
		TEST(latest_is_by_time), TEST(by_name_and_directory), TEST(wanted_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
