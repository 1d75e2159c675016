/* SPDX-License-Identifier: MIT */
/* test_sources.c: lists of source files in made-up meta.json: names, what is refused, and what is said of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "reclog/sources.h"

static void test_clean(void **state)
{
	static const struct {
		const char *path, *clean;
	} rows[] = {
		{"/a/b.c", "/a/b.c"},	    {"/a//b/./c.c", "/a/b/c.c"}, {"/build/../src/x.c", "/src/x.c"},
		{"/../../etc/x", "/etc/x"}, {"/a/b/..", "/a"},		 {"/", ""},
		{"/a/..b/c..", "/a/..b/c.."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *clean = path_clean(rows[i].path);

		assert_string_equal(clean, rows[i].clean);
	}
}

static void init(struct rec *rec, struct sources *s, json_t *files)
{
	*rec = (struct rec){.dir = (char *)"/nonexistent", .meta = json_pack("{s:{s:s, s:o}}", "sources", "copies", "0-0-1-2",
									      "files", files)};
	sources_init(s, rec);
}

/* Nothing that leads out of the recording or of the folder that GDB is given. */
static void test_refused(void **state)
{
	static const char *const names[] = {"x.c", "/a/../../etc/passwd", "/a/..", ""};
	json_t *files = json_array();
	struct sources s;
	struct rec rec;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_array_append_new(files, json_pack("{s:s, s:s}", "name", names[i], "stamp", "1-2-3-4"));
	json_array_append_new(files, json_pack("{s:s, s:s}", "name", "/ok.c", "stamp", "../1-2-3-4"));
	json_array_append_new(files, json_pack("{s:s}", "name", "/ok.c"));
	json_array_append_new(files, json_integer(3));
	init(&rec, &s, files);
	assert_int_equal(s.n, 0);
	sources_fini(&s);
	json_decref(rec.meta);
}

static char *stamp_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return source_stamp(&st);
}

static void test_notes(void **state)
{
	char same[] = "/tmp/fred-same-XXXXXX", changed[] = "/tmp/fred-changed-XXXXXX";
	cleanup_close int a = mkstemp(same), b = mkstemp(changed);
	cleanup_free char *stamp_same = stamp_of(same), *stamp_changed = stamp_of(changed);
	cleanup_strv struct strv notes = {0};
	struct sources s;
	struct rec rec;

	assert_true(a >= 0);
	assert_int_equal(write_full(b, "more", 4), 0);
	init(&rec, &s, json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:b}]", "name", same, "stamp", stamp_same, "name", changed,
				 "stamp", stamp_changed, "name", "/nowhere/x.c", "stamp", "1-2-3-4", "newer", 1));
	assert_int_equal(s.n, 3);
	assert_null(sources_find(&s, "same.c"));
	assert_ptr_equal(sources_find(&s, "/nowhere/y/../x.c"), &s.v[2]);
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < s.n; i++)
			assert_false(sources_use(&s, s.v[i].name, NULL));
	assert_int_equal(s.v[0].state, SOURCE_SAME);
	assert_int_equal(s.v[1].state, SOURCE_CHANGED);
	assert_int_equal(s.v[2].state, SOURCE_GONE);
	sources_notes(&s, &notes);
	assert_int_equal(notes.n, 1); /* of what is gone and was not kept, no line can be shown */
	assert_non_null(strstr(notes.s[0], changed));
	assert_non_null(strstr(notes.s[0], "warning: "));
	unlink(same);
	unlink(changed);
	sources_fini(&s);
	json_decref(rec.meta);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
