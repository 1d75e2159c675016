// SPDX-License-Identifier: MIT
/* test_message.c: what is built parses back, error kinds survive the wire, lines are lines. */
#include "base/cleanup.h"
#include "test.h"
#include "wire/message.h"

/* Builds the line, parses it back into m. Steals msg. */
static void round_trip(json_t *msg, struct wire_msg *m)
{
	cleanup_free char *line = NULL;
	size_t len;
	struct err e;
	int code;

	assert_non_null(msg);
	line = wire_line(msg, &len);
	assert_non_null(line);
	assert_int_equal(line[len - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + len - 1);
	assert_int_equal(wire_msg_parse(line, len - 1, m, &code, &e), 0);
	json_decref(msg);
}

static void request(void **state)
{
	cleanup_wire_msg struct wire_msg m;

	round_trip(wire_request(7, "eval", json_pack("{s:s}", "at", "a\nb")), &m);
	assert_int_equal(m.type, WIRE_MSG_REQUEST);
	assert_string_equal(m.method, "eval");
	assert_int_equal(json_integer_value(m.id), 7);
	assert_string_equal(json_string_value(json_object_get(m.params, "at")), "a\nb");
}

static void without_params(void **state)
{
	cleanup_wire_msg struct wire_msg m;

	round_trip(wire_request(1, "status", NULL), &m);
	assert_null(m.params);
}

static void notification(void **state)
{
	cleanup_wire_msg struct wire_msg m;

	round_trip(wire_notification("op.progress", json_pack("{s:f}", "fraction", 0.5)), &m);
	assert_int_equal(m.type, WIRE_MSG_NOTIFICATION);
	assert_null(m.id);
}

static void result(void **state)
{
	json_auto_t *id = json_string("x");
	cleanup_wire_msg struct wire_msg m;

	round_trip(wire_result(id, json_pack("[i]", 1)), &m);
	assert_int_equal(m.type, WIRE_MSG_RESULT);
	assert_true(json_equal(m.id, id));
	assert_int_equal(json_array_size(m.result), 1);
}

static void error_kinds(void **state)
{
	for (int kind = ERR_NOT_FOUND; kind <= ERR_CANCELLED; kind++) {
		json_auto_t *id = json_integer(3);
		cleanup_wire_msg struct wire_msg m;
		struct err e, back = {0};

		err_set(&e, (enum err_kind)kind, "text of %d", kind);
		round_trip(wire_error_from(id, &e), &m);
		assert_int_equal(m.type, WIRE_MSG_ERROR);
		assert_int_equal(wire_kind_of(m.code), kind);
		assert_int_equal(wire_msg_to_err(&m, &back), -1);
		assert_int_equal(back.kind, kind);
		assert_string_equal(back.text, e.text);
	}
}

static void error_without_id(void **state)
{
	cleanup_wire_msg struct wire_msg m;

	round_trip(wire_error(NULL, WIRE_E_PARSE, "bad"), &m);
	assert_int_equal(m.type, WIRE_MSG_ERROR);
	assert_int_equal(m.code, -32700);
}

static void error_text_of_any_bytes(void **state)
{
	json_auto_t *id = json_integer(3);
	json_auto_t *msg = NULL;
	struct err e;

	err_set(&e, ERR_USAGE, "no such file: \xff\xfe");
	msg = wire_error_from(id, &e);
	assert_non_null(msg);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(msg, "error"), "code")),
			 WIRE_E_USAGE);
}

static void unknown_code_is_internal(void **state)
{
	assert_int_equal(wire_kind_of(12345), ERR_INTERNAL);
	assert_int_equal(wire_kind_of(WIRE_E_METHOD), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request),
		cmocka_unit_test(without_params),
		cmocka_unit_test(notification),
		cmocka_unit_test(result),
		cmocka_unit_test(error_kinds),
		cmocka_unit_test(error_without_id),
		cmocka_unit_test(error_text_of_any_bytes),
		cmocka_unit_test(unknown_code_is_internal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
