// SPDX-License-Identifier: MIT
/* test_jsonx.c: each getter on a right, a wrong and a missing field; one-line dumps; odd bytes. */
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "test.h"

static const char text[] = "{\"s\": \"x\", \"i\": -3, \"u\": 9, \"b\": true, \"r\": 1.5, \"o\": {\"k\": 1}, "
			   "\"a\": [1], \"n\": null}";

static void getters_take_the_right_type(void **state)
{
	json_auto_t *v = json_parse(text, strlen(text), NULL);
	json_t *o, *a;
	const char *s;
	uint64_t u;
	int64_t i;
	double r;
	bool b;

	assert_int_equal(json_get_str(v, "s", &s, NULL), 0);
	assert_string_equal(s, "x");
	assert_int_equal(json_get_i64(v, "i", &i, NULL), 0);
	assert_int_equal(i, -3);
	assert_int_equal(json_opt_u64(v, "u", &u, NULL), 0);
	assert_int_equal(u, 9);
	assert_int_equal(json_get_bool(v, "b", &b, NULL), 0);
	assert_true(b);
	assert_int_equal(json_get_real(v, "r", &r, NULL), 0);
	assert_true(r > 1.4 && r < 1.6);
	assert_int_equal(json_get_real(v, "u", &r, NULL), 0);
	assert_int_equal(json_get_obj(v, "o", &o, NULL), 0);
	assert_int_equal(json_get_arr(v, "a", &a, NULL), 0);
	assert_int_equal(json_array_size(a), 1);
}

static void errors_name_the_field(void **state)
{
	json_auto_t *v = json_parse(text, strlen(text), NULL);
	struct err e = {0};
	const char *s;
	uint64_t u;
	json_t *o;
	bool b;

	assert_int_equal(json_get_str(v, "i", &s, &e), -1);
	assert_string_equal(e.text, "field \"i\": expected a string, got an integer");
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(json_get_obj(v, "gone", &o, &e), -1);
	assert_string_equal(e.text, "field \"gone\": expected an object, got nothing");
	assert_int_equal(json_get_u64(v, "i", &u, &e), -1);
	assert_string_equal(e.text, "field \"i\": -3 is negative");
	assert_int_equal(json_get_bool(v, "n", &b, &e), -1);
	assert_int_equal(json_get_arr(v, "o", &o, &e), -1);
	/* something that is no object has no fields */
	assert_int_equal(json_get_str(json_object_get(v, "a"), "s", &s, &e), -1);
}

static void optional_fields_keep_their_default(void **state)
{
	json_auto_t *v = json_parse(text, strlen(text), NULL);
	const char *s = "default";
	uint64_t u = 42;
	bool b = true;

	assert_int_equal(json_opt_str(v, "gone", &s, NULL), 0);
	assert_int_equal(json_opt_bool(v, "gone", &b, NULL), 0);
	assert_string_equal(s, "default");
	assert_int_equal(u, 42);
	assert_true(b);
	assert_int_equal(json_get_u64(v, "u", &u, NULL), 0);
	assert_int_equal(u, 9);
	assert_int_equal(json_opt_u64(v, "s", &u, NULL), -1);
}

static void bad_text_is_located(void **state)
{
	cleanup_free char *path = path_join(*state, "bad.json");
	struct err e = {0};

	assert_int_equal(write_file(path, "{\n  \"a\": ]\n}", 12, 0600, NULL), 0);
	assert_null(json_load_path(path, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "line 2"));
	assert_null(json_parse("{\"a\":1,\"a\":2}", 13, &e));
	assert_null(json_parse("", 0, &e));
	assert_null(json_parse("{} {}", 5, &e));
}

static void written_files_load_again(void **state)
{
	cleanup_free char *path = path_join(*state, "v.json");
	json_auto_t *v = json_parse(text, strlen(text), NULL);
	json_auto_t *again = NULL;

	assert_int_equal(json_write_path(path, v, 0600, NULL), 0);
	again = json_load_path(path, NULL);
	assert_true(json_equal(v, again));
}

static void a_dump_is_one_line(void **state)
{
	json_auto_t *v = json_pack("{s:s,s:[i,i]}", "k", "a\nb", "l", 1, 2);
	cleanup_buf struct buf b = {0};
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(json_dump_line(p[1], v, NULL), 0);
	close(p[1]);
	assert_int_equal(read_fd(p[0], &b, NULL), 0);
	close(p[0]);
	assert_string_equal(buf_str(&b), "{\"k\":\"a\\nb\",\"l\":[1,2]}\n");
}

static void check_text(const char *in, size_t n, const char *want)
{
	json_auto_t *v = json_text(in, n);

	assert_string_equal(json_string_value(v), want);
}

#define BAD "\xef\xbf\xbd"

static void bytes_that_are_no_utf8(void **state)
{
	check_text("plain", 5, "plain");
	check_text("", 0, "");
	check_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	check_text("a\xff z", 4, "a" BAD " z");
	check_text("\xc0\x80", 2, BAD BAD); /* overlong */
	check_text("\xed\xa0\x80", 3, BAD BAD BAD); /* a surrogate */
	check_text("\xe2\x82", 2, BAD BAD); /* cut short */
	check_text("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD); /* beyond U+10FFFF */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getters_take_the_right_type),
		cmocka_unit_test(errors_name_the_field),
		cmocka_unit_test(optional_fields_keep_their_default),
		cmocka_unit_test(bad_text_is_located),
		cmocka_unit_test(written_files_load_again),
		cmocka_unit_test(a_dump_is_one_line),
		cmocka_unit_test(bytes_that_are_no_utf8),
	};

	return cmocka_run_group_tests_name("base-jsonx", tests, scratch_up, scratch_down);
}
