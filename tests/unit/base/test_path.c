// SPDX-License-Identifier: MIT
/* test_path.c: names, making and removing folders. */
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "test.h"

static void check_join(const char *dir, const char *name, const char *want)
{
	cleanup_free char *got = path_join(dir, name);

	assert_string_equal(got, want);
}

static void check_dir(const char *path, const char *want_dir, const char *want_base)
{
	cleanup_free char *dir = path_dir(path);

	assert_string_equal(dir, want_dir);
	assert_string_equal(path_base(path), want_base);
}

static void names(void **state)
{
	check_join("/a", "b", "/a/b");
	check_join("/a/", "b/c", "/a/b/c");
	check_join("/a", "/b", "/b");
	check_join("", "b", "b");
	check_join("/", "b", "/b");
	check_dir("/a/b", "/a", "b");
	check_dir("/a", "/", "a");
	check_dir("a", ".", "a");
	check_dir("a/b/", "a/b", "");
}

static void system_paths(void **state)
{
	assert_true(path_is_system("/usr/include/stdio.h"));
	assert_true(path_is_system("/usr/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(path_is_system("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(path_is_system("/lib64/ld-linux-x86-64.so.2"));
	assert_true(path_is_system("/usr/share/gdb/auto-load/x.py"));
	assert_false(path_is_system("/usr/local/lib/libmine.so"));
	assert_false(path_is_system("/usr/src/mine/a.c"));
	assert_false(path_is_system("/library/a.c"));
	assert_false(path_is_system("/home/me/usr/lib/a.c"));
	assert_false(path_is_system(""));
	assert_false(path_is_system("lib/a.c"));
	assert_true(path_is_system("/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/vector"));
}

static void absolute(void **state)
{
	cleanup_free char *kept = path_absolute("/x/../y"), *made = NULL, *want = NULL;

	assert_string_equal(kept, "/x/../y");
	assert_int_equal(chdir(*state), 0);
	want = path_join(*state, "z");
	made = path_absolute("z");
	assert_string_equal(made, want);
	assert_int_equal(chdir("/"), 0);
}

static void mkdir_p_makes_parents(void **state)
{
	cleanup_free char *path = path_join(*state, "p/q//r/"), *file = path_join(*state, "file");
	cleanup_free char *below = path_join(file, "x");
	struct err e = {0};
	struct stat st;

	assert_int_equal(mkdir_p(path, 0710, &e), 0);
	assert_int_equal(mkdir_p(path, 0710, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0710);
	assert_int_equal(write_file(file, "", 0, 0600, &e), 0);
	assert_int_equal(mkdir_p(below, 0700, &e), -1);
	assert_non_null(strstr(e.text, file));
	assert_int_equal(mkdir_p(file, 0700, &e), -1);
}

static void rm_rf_stays_inside(void **state)
{
	cleanup_free char *tree = path_join(*state, "tree"), *deep = path_join(tree, "a/b/c");
	cleanup_free char *keep = path_join(*state, "keep"), *kept = path_join(keep, "f");
	cleanup_free char *link = path_join(tree, "a/link"), *file = path_join(deep, "f");
	struct err e = {0};

	assert_int_equal(mkdir_p(deep, 0700, &e), 0);
	assert_int_equal(mkdir_p(keep, 0700, &e), 0);
	assert_int_equal(write_file(kept, "x", 1, 0600, &e), 0);
	assert_int_equal(write_file(file, "x", 1, 0400, &e), 0);
	assert_int_equal(symlink(keep, link), 0);
	assert_true(path_disk_usage(tree) > 0);
	assert_int_equal(rm_rf(tree, &e), 0);
	assert_false(path_exists(tree));
	assert_true(path_exists(kept));
	assert_int_equal(path_disk_usage(tree), 0);
	assert_int_equal(rm_rf(tree, &e), 0);
}

static void rm_rf_of_a_link_removes_the_link(void **state)
{
	cleanup_free char *target = path_join(*state, "target"), *link = path_join(*state, "alink");

	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(rm_rf(link, NULL), 0);
	assert_false(path_exists(link));
	assert_true(path_is_dir(target));
}

static void many_entries(void **state)
{
	cleanup_free char *dir = path_join(*state, "many");

	assert_int_equal(mkdir(dir, 0700), 0);
	for (int i = 0; i < 2000; i++) {
		cleanup_free char *f = str_fmt("%s/file-with-a-long-name-%d", dir, i);

		assert_int_equal(write_file(f, "", 0, 0600, NULL), 0);
	}
	assert_int_equal(rm_rf(dir, NULL), 0);
	assert_false(path_exists(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(system_paths),
		cmocka_unit_test(absolute),
		cmocka_unit_test(mkdir_p_makes_parents),
		cmocka_unit_test(rm_rf_stays_inside),
		cmocka_unit_test(rm_rf_of_a_link_removes_the_link),
		cmocka_unit_test(many_entries),
	};

	return cmocka_run_group_tests_name("base-path", tests, scratch_up, scratch_down);
}
