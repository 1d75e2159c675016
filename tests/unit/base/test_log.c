// SPDX-License-Identifier: MIT
/* test_log.c: what a line looks like, what is dropped, and that concurrent writers do not mix. */
#include <errno.h>
#include <sys/wait.h>

#define LOG_DOMAIN "test"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "test.h"

static char *log_path(void **state, const char *name)
{
	char *path = path_join(*state, name);
	struct err e = {0};

	assert_int_equal(log_open(path, &e), 0);
	return path;
}

static void read_lines(const char *path, struct strv *lines)
{
	cleanup_buf struct buf b = {0};

	assert_int_equal(read_file(path, &b, NULL), 0);
	strv_split(lines, buf_str(&b), "\n");
}

static void lines_have_time_level_domain_session(void **state)
{
	cleanup_free char *path = log_path(state, "form");
	cleanup_strv struct strv lines = {0};

	log_set_level(LOG_LEVEL_INFO);
	log_session("s7");
	errno = ERANGE;
	log_info("a\nb %d\n", 1);
	assert_int_equal(errno, ERANGE);
	log_session(NULL);
	log_error("plain");
	log_debug("dropped");
	read_lines(path, &lines);
	assert_int_equal(lines.n, 2);
	assert_int_equal(lines.s[0][10], 'T');
	assert_string_equal(lines.s[0] + 23, " info test s7: a b 1");
	assert_string_equal(lines.s[1] + 23, " error test plain");
}

static void levels_by_name(void **state)
{
	enum log_level level = LOG_LEVEL_ERROR;

	assert_int_equal(log_level_from_name("debug", &level), 0);
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_from_name("loud", &level), -1);
	assert_int_equal(level, LOG_LEVEL_DEBUG);
}

static void an_unwritable_file_is_an_error(void **state)
{
	struct err e = {0};

	assert_int_equal(log_open("/proc/no/such/log", &e), -1);
	assert_non_null(strstr(e.text, "/proc/no/such/log"));
}

#define WRITERS 4
#define LINES 500

static void processes_do_not_mix_lines(void **state)
{
	cleanup_free char *path = log_path(state, "many");
	cleanup_strv struct strv lines = {0};

	log_set_level(LOG_LEVEL_WARN);
	for (int w = 0; w < WRITERS; w++) {
		if (fork())
			continue;
		for (int i = 0; i < LINES; i++)
			log_warn("writer%d line%d end", w, i);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	read_lines(path, &lines);
	assert_int_equal(lines.n, WRITERS * LINES);
	for (size_t i = 0; i < lines.n; i++) {
		assert_true(str_ends(lines.s[i], " end"));
		assert_ptr_equal(strstr(lines.s[i], "writer"), strrchr(lines.s[i], 'w'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_time_level_domain_session),
		cmocka_unit_test(levels_by_name),
		cmocka_unit_test(an_unwritable_file_is_an_error),
		cmocka_unit_test(processes_do_not_mix_lines),
	};

	return cmocka_run_group_tests_name("base-log", tests, scratch_up, scratch_down);
}
