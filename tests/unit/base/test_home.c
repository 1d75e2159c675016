// SPDX-License-Identifier: MIT
/* test_home.c: which folder is fred's home, and what is wrong with it. */
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "test.h"

static void env_names_it_and_it_is_private(void **state)
{
	cleanup_free char *want = path_join(*state, "a/b"), *got = NULL, *sub = NULL;
	struct err e = {0};
	struct stat st;

	setenv("FRED_HOME", want, 1);
	got = home_dir(&e);
	assert_string_equal(got, want);
	assert_int_equal(stat(want, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	sub = home_subdir("recordings", &e);
	assert_true(str_starts(sub, want));
	assert_int_equal(stat(sub, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void defaults_follow_xdg(void **state)
{
	cleanup_free char *xdg = path_join(*state, "xdg"), *want = path_join(xdg, "fred"), *got = NULL;
	cleanup_free char *home = path_join(*state, "me"), *got_home = NULL;
	cleanup_free char *want_home = path_join(home, ".local/share/fred");

	unsetenv("FRED_HOME");
	setenv("HOME", home, 1);
	setenv("XDG_DATA_HOME", xdg, 1);
	got = home_dir(NULL);
	assert_string_equal(got, want);
	setenv("XDG_DATA_HOME", "relative/is/invalid", 1);
	got_home = home_dir(NULL);
	assert_string_equal(got_home, want_home);
}

static void relative_becomes_absolute(void **state)
{
	cleanup_free char *want = path_join(*state, "rel"), *got = NULL;

	assert_int_equal(chdir(*state), 0);
	setenv("FRED_HOME", "rel", 1);
	got = home_dir(NULL);
	assert_string_equal(got, want);
	assert_int_equal(chdir("/"), 0);
}

static void a_file_in_its_place_is_a_host_error(void **state)
{
	cleanup_free char *path = path_join(*state, "file");
	struct err e = {0};

	assert_int_equal(write_file(path, "", 0, 0600, NULL), 0);
	setenv("FRED_HOME", path, 1);
	assert_null(home_dir(&e));
	assert_int_equal(e.kind, ERR_HOST);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "FRED_HOME"));
}

static void another_users_folder_is_refused(void **state)
{
	cleanup_free char *path = path_join(*state, "theirs");
	struct err e = {0};

	if (geteuid())
		skip(); /* only root can give a folder away */
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	setenv("FRED_HOME", path, 1);
	assert_null(home_dir(&e));
	assert_int_equal(e.kind, ERR_HOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(env_names_it_and_it_is_private),
		cmocka_unit_test(defaults_follow_xdg),
		cmocka_unit_test(relative_becomes_absolute),
		cmocka_unit_test(a_file_in_its_place_is_a_host_error),
		cmocka_unit_test(another_users_folder_is_refused),
	};

	return cmocka_run_group_tests_name("base-home", tests, scratch_up, scratch_down);
}
