/* SPDX-License-Identifier: MIT */
/* test_places.c: names for positions, and their way through JSON. */
#include "../base/test.h"

#include "base/cleanup.h"
#include "debug/places.h"

static const struct timeline_point here = {.event = 12, .pc = 0x555555555150, .hits = 3}, there = {.event = 20, .pc = 0x1, .hits = 1};

static void names_and_numbers(void **state)
{
	cleanup_buf struct buf text = {0};
	struct places p = {0};

	places_list(&p, "none", &text);
	assert_string_equal(buf_str(&text), "none\n");
	assert_string_equal(places_set(&p, "", &here)->name, "1");
	assert_string_equal(places_set(&p, "crash", &here)->name, "crash");
	assert_string_equal(places_set(&p, "", &there)->name, "2");
	places_set(&p, "crash", &there);
	assert_int_equal(p.n, 3);
	assert_int_equal(places_find(&p, "crash")->at.event, 20);
	places_remove(&p, "1");
	places_remove(&p, "no such");
	assert_null(places_find(&p, "1"));
	/* a number is not given twice */
	assert_string_equal(places_set(&p, "", &here)->name, "3");
	buf_clear(&text);
	places_list(&p, "none", &text);
	assert_non_null(strstr(buf_str(&text), "3            12/0x555555555150#3\n"));
	places_fini(&p);
}

static void through_json(void **state)
{
	struct places p = {0}, q = {0};
	json_auto_t *v = NULL;
	struct err e;

	places_set(&p, "", &here)->image = 4;
	places_set(&p, "\"quoted\" name", &there);
	v = places_json(&p);
	assert_int_equal(places_read(&q, v, &e), 0);
	assert_int_equal(q.n, 2);
	assert_int_equal(q.last, 1);
	assert_int_equal(places_find(&q, "1")->image, 4);
	assert_int_equal(places_find(&q, "1")->at.hits, 3);
	assert_int_equal(places_find(&q, "\"quoted\" name")->at.event, 20);
	places_fini(&p);
	places_fini(&q);
}

static void damage_is_refused(void **state)
{
	static const char *const bad[] = {"{}", "{\"last\":1,\"places\":[{}]}", "{\"last\":-1,\"places\":[]}",
					  "{\"last\":1,\"places\":[{\"name\":\"1\",\"event\":\"x\",\"pc\":1,\"hits\":1,\"image\":0}]}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_auto_t *v = json_loads(bad[i], 0, NULL);
		struct places p = {0};
		struct err e;

		assert_int_equal(places_read(&p, v, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		places_fini(&p);
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
