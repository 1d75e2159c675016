/* SPDX-License-Identifier: MIT */
/* test_type.c: GDB's texts of types, and values in GDB's manner. No GDB needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/type.h"

static const struct {
	const char *definition;
	enum expr_type_kind kind;
	bool is_signed;
} types[] = {
	{"int", EXPR_TYPE_INT, true},
	{"unsigned int", EXPR_TYPE_INT, false},
	{"const volatile unsigned long", EXPR_TYPE_INT, false},
	{"long long", EXPR_TYPE_INT, true},
	{"unsigned short", EXPR_TYPE_INT, false},
	{"char", EXPR_TYPE_CHAR, true},
	{"unsigned char", EXPR_TYPE_CHAR, false},
	{"signed char", EXPR_TYPE_CHAR, true},
	{"_Bool", EXPR_TYPE_BOOL, true},
	{"bool", EXPR_TYPE_BOOL, true},
	{"float", EXPR_TYPE_FLOAT, true},
	{"long double", EXPR_TYPE_FLOAT, true},
	{"__int128", EXPR_TYPE_OTHER, true},
	{"void", EXPR_TYPE_OTHER, true},
	{"int *", EXPR_TYPE_POINTER, false},
	{"char **", EXPR_TYPE_POINTER, false},
	{"int * const", EXPR_TYPE_POINTER, false},
	{"int (*)(const char *)", EXPR_TYPE_POINTER, false},
	{"int (*)[4]", EXPR_TYPE_POINTER, false},
	{"int (const char *)", EXPR_TYPE_FUNCTION, false},
	{"char [8]", EXPR_TYPE_AGGREGATE, false},
	{"int (*[3])(int)", EXPR_TYPE_AGGREGATE, false},
	{"struct s {\n    int a;\n    int (*f)(int);\n}", EXPR_TYPE_AGGREGATE, false},
	{"struct s {\n    int a;\n} *", EXPR_TYPE_POINTER, false},
	{"struct s {\n    int a;\n} [2]", EXPR_TYPE_AGGREGATE, false},
	{"union {...}", EXPR_TYPE_AGGREGATE, false},
	{"enum col {RED, GREEN = 5}", EXPR_TYPE_ENUM, false},
	{"enum col {A = -1, B}", EXPR_TYPE_ENUM, true},
	{"enum col {RED} *", EXPR_TYPE_POINTER, false},
	{"enum class shop::State : int {shop::State::Open}", EXPR_TYPE_ENUM, false},
};

static void test_classify(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct expr_type t = {.definition = xstrdup(types[i].definition)};

		expr_type_classify(&t);
		if (t.kind != types[i].kind || t.is_signed != types[i].is_signed || t.is_reference)
			fail_msg("%s: %d, %d", t.definition, t.kind, t.is_signed);
		expr_type_fini(&t);
	}
}

static void test_reference(void **state)
{
	struct expr_type t = {.definition = xstrdup("const int &")};

	(void)state;
	expr_type_classify(&t);
	assert_true(t.is_reference);
	assert_int_equal(t.kind, EXPR_TYPE_INT);
	expr_type_fini(&t);
}

static const struct {
	const char *definition;
	unsigned size;
	int64_t value;
	const char *text;
} values[] = {
	{"int", 4, -3, "-3"},
	{"int", 4, 0xfffffffdll, "-3"},
	{"unsigned int", 4, -3, "4294967293"},
	{"unsigned long", 8, -1, "18446744073709551615"},
	{"long", 8, INT64_MIN, "-9223372036854775808"},
	{"short", 2, 0x18000, "-32768"},
	{"char", 1, 97, "97 'a'"},
	{"char", 1, -1, "-1 '\\377'"},
	{"unsigned char", 1, 255, "255 '\\377'"},
	{"char", 1, 0, "0 '\\000'"},
	{"char", 1, '\n', "10 '\\n'"},
	{"char", 1, '\'', "39 '\\''"},
	{"char", 1, '\\', "92 '\\\\'"},
	{"_Bool", 1, 1, "true"},
	{"_Bool", 1, 0, "false"},
	{"char *", 8, 0x4c3010, "0x4c3010"},
	{"char *", 8, 0, "0x0"},
	{"enum c {RED, GREEN = 5, BLUE}", 4, 6, "BLUE"},
	{"enum c {RED, GREEN = 5, BLUE}", 4, 0, "RED"},
	{"enum c {LOW = -1, MID, HIGH}", 4, -1, "LOW"},
	{"enum c {LOW = -1, MID, HIGH}", 4, 0xffffffffll, "LOW"},
	{"enum c {LOW = -1, MID, HIGH}", 4, 1, "HIGH"},
	{"enum c {RED, GREEN = 5}", 4, 3, "3"},
};

static void test_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct expr_type t = {.definition = xstrdup(values[i].definition), .size = values[i].size};
		cleanup_free char *text = NULL;

		expr_type_classify(&t);
		text = expr_type_format(&t, values[i].value);
		assert_string_equal(text, values[i].text);
		expr_type_fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests_name("gdb-type", tests, NULL, NULL);
}
