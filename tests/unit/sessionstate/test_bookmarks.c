/* SPDX-License-Identifier: MIT */
/* test_bookmarks.c: names for positions, and their way through JSON. */
#include "../base/test.h"

#include "base/cleanup.h"
#include "sessionstate/bookmarks.h"

static const struct timeline_point here = {.event = 12, .pc = 0x555555555150, .hits = 3}, there = {.event = 20, .pc = 0x1, .hits = 1};

static void names_and_numbers(void **state)
{
	cleanup_buf struct buf text = {0};
	struct bookmarks p = {0};

	bookmarks_list(&p, "none", &text);
	assert_string_equal(buf_str(&text), "none\n");
	assert_string_equal(bookmarks_set(&p, "", &here)->name, "1");
	assert_string_equal(bookmarks_set(&p, "crash", &here)->name, "crash");
	assert_string_equal(bookmarks_set(&p, "", &there)->name, "2");
	bookmarks_set(&p, "crash", &there);
	assert_int_equal(p.n, 3);
	assert_int_equal(bookmarks_find(&p, "crash")->at.event, 20);
	bookmarks_remove(&p, "1");
	bookmarks_remove(&p, "no such");
	assert_null(bookmarks_find(&p, "1"));
	/* a number is not given twice */
	assert_string_equal(bookmarks_set(&p, "", &here)->name, "3");
	buf_clear(&text);
	bookmarks_list(&p, "none", &text);
	assert_non_null(strstr(buf_str(&text), "3            12/0x555555555150#3\n"));
	bookmarks_fini(&p);
}

static void through_json(void **state)
{
	struct bookmarks p = {0}, q = {0};
	json_auto_t *v = NULL;
	struct err e;

	bookmarks_set(&p, "", &here)->image = 4;
	bookmarks_set(&p, "\"quoted\" name", &there);
	v = bookmarks_json(&p);
	assert_int_equal(bookmarks_read(&q, v, &e), 0);
	assert_int_equal(q.n, 2);
	assert_int_equal(q.last, 1);
	assert_int_equal(bookmarks_find(&q, "1")->image, 4);
	assert_int_equal(bookmarks_find(&q, "1")->at.hits, 3);
	assert_int_equal(bookmarks_find(&q, "\"quoted\" name")->at.event, 20);
	bookmarks_fini(&p);
	bookmarks_fini(&q);
}

static void damage_is_refused(void **state)
{
	static const char *const bad[] = {"{}", "{\"last\":1,\"places\":[{}]}", "{\"last\":-1,\"places\":[]}",
					  "{\"last\":1,\"places\":[{\"name\":\"1\",\"event\":\"x\",\"pc\":1,\"hits\":1,\"image\":0}]}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_auto_t *v = json_loads(bad[i], 0, NULL);
		struct bookmarks p = {0};
		struct err e;

		assert_int_equal(bookmarks_read(&p, v, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		bookmarks_fini(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_numbers),
		cmocka_unit_test(through_json),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
