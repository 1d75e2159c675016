// SPDX-License-Identifier: MIT
/* test_addr.c: where the socket is, who may use it, and stale ones. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "test.h"
#include "wire/addr.h"

static int make_dir(void **state)
{
	char template[] = "/tmp/fred-test-XXXXXX";

	if (!mkdtemp(template))
		return -1;
	*state = strdup(template);
	return 0;
}

static int remove_dir(void **state)
{
	struct err e;
	int r = rm_rf(*state, &e);

	free(*state);
	return r;
}

static void in_home(void **state)
{
	cleanup_free char *want = str_fmt("%s/fredd.sock", (char *)*state);
	struct wire_addr a;
	struct err e;

	assert_int_equal(wire_addr_init(&a, *state, &e), 0);
	assert_string_equal(a.sa.sun_path, want);
}

static void long_path(void **state)
{
	cleanup_free char *one = str_fmt("%s/%0100d", (char *)*state, 1);
	cleanup_free char *two = str_fmt("%s/%0100d", (char *)*state, 2);
	struct wire_addr a, b, again;
	struct err e;
	int fd;

	assert_int_equal(mkdir(one, 0700), 0);
	assert_int_equal(mkdir(two, 0700), 0);
	setenv("XDG_RUNTIME_DIR", *state, 1);
	assert_int_equal(wire_addr_init(&a, one, &e), 0);
	assert_int_equal(wire_addr_init(&b, two, &e), 0);
	assert_int_equal(wire_addr_init(&again, one, &e), 0);
	assert_string_equal(a.sa.sun_path, again.sa.sun_path);
	assert_string_not_equal(a.sa.sun_path, b.sa.sun_path);
	assert_true(str_starts(a.sa.sun_path, *state));
	fd = wire_listen(&a, &e);
	assert_true(fd >= 0);
	close(fd);
	unsetenv("XDG_RUNTIME_DIR");
}

/* A runtime directory that others can write to is not used. */
static void unsafe_runtime_dir(void **state)
{
	cleanup_free char *home = str_fmt("%s/%0100d", (char *)*state, 1);
	cleanup_free char *shared = str_fmt("%s/shared", (char *)*state);
	struct wire_addr a;
	struct err e;

	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(mkdir(shared, 0700), 0);
	assert_int_equal(chmod(shared, 0777), 0);
	setenv("XDG_RUNTIME_DIR", shared, 1);
	assert_int_equal(wire_addr_init(&a, home, &e), 0);
	assert_false(str_starts(a.sa.sun_path, shared));
	unsetenv("XDG_RUNTIME_DIR");
}

static void home_of_others(void **state)
{
	struct wire_addr a;
	struct err e;

	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(wire_addr_init(&a, *state, &e), -1);
	assert_int_equal(e.kind, ERR_HOST);
	assert_non_null(strstr(e.text, "others may write"));
	assert_int_equal(chmod(*state, 0700), 0);
	if (geteuid())
		return;
	assert_int_equal(chown(*state, 12345, 0), 0);
	assert_int_equal(wire_addr_init(&a, *state, &e), -1);
	assert_non_null(strstr(e.text, "not a directory of this user"));
}

static void mode_and_stale(void **state)
{
	struct wire_addr a;
	struct stat st;
	struct err e;
	int fd, c;

	assert_int_equal(wire_addr_init(&a, *state, &e), 0);
	assert_int_equal(wire_connect(&a, &e), -2);
	fd = wire_listen(&a, &e);
	assert_true(fd >= 0);
	assert_int_equal(stat(a.sa.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	c = wire_connect(&a, &e);
	assert_true(c >= 0);
	close(c);
	close(fd); /* as kill -9 would: the file stays */
	assert_int_equal(wire_connect(&a, &e), -2);
	fd = wire_listen(&a, &e);
	assert_true(fd >= 0);
	c = wire_connect(&a, &e);
	assert_true(c >= 0);
	close(c);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_home, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(long_path, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(unsafe_runtime_dir, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(home_of_others, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(mode_and_stale, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
