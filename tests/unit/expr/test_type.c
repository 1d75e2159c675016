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
	enum gdb_type_kind kind;
	bool is_signed;
} types[] = {
	{"int", GDB_TYPE_INT, true},
	{"unsigned int", GDB_TYPE_INT, false},
	{"const volatile unsigned long", GDB_TYPE_INT, false},
	{"long long", GDB_TYPE_INT, true},
	{"unsigned short", GDB_TYPE_INT, false},
	{"char", GDB_TYPE_CHAR, true},
	{"unsigned char", GDB_TYPE_CHAR, false},
	{"signed char", GDB_TYPE_CHAR, true},
	{"_Bool", GDB_TYPE_BOOL, true},
	{"bool", GDB_TYPE_BOOL, true},
	{"float", GDB_TYPE_FLOAT, true},
	{"long double", GDB_TYPE_FLOAT, true},
	{"__int128", GDB_TYPE_OTHER, true},
	{"void", GDB_TYPE_OTHER, true},
	{"int *", GDB_TYPE_POINTER, false},
	{"char **", GDB_TYPE_POINTER, false},
	{"int * const", GDB_TYPE_POINTER, false},
	{"int (*)(const char *)", GDB_TYPE_POINTER, false},
	{"int (*)[4]", GDB_TYPE_POINTER, false},
	{"int (const char *)", GDB_TYPE_FUNCTION, false},
	{"char [8]", GDB_TYPE_AGGREGATE, false},
	{"int (*[3])(int)", GDB_TYPE_AGGREGATE, false},
	{"struct s {\n    int a;\n    int (*f)(int);\n}", GDB_TYPE_AGGREGATE, false},
	{"struct s {\n    int a;\n} *", GDB_TYPE_POINTER, false},
	{"struct s {\n    int a;\n} [2]", GDB_TYPE_AGGREGATE, false},
	{"union {...}", GDB_TYPE_AGGREGATE, false},
	{"enum col {RED, GREEN = 5}", GDB_TYPE_ENUM, false},
	{"enum col {A = -1, B}", GDB_TYPE_ENUM, true},
	{"enum col {RED} *", GDB_TYPE_POINTER, false},
	{"enum class shop::State : int {shop::State::Open}", GDB_TYPE_ENUM, false},
};

static void test_classify(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct gdb_type t = {.definition = xstrdup(types[i].definition)};

		gdb_type_classify(&t);
		if (t.kind != types[i].kind || t.is_signed != types[i].is_signed || t.is_reference)
			fail_msg("%s: %d, %d", t.definition, t.kind, t.is_signed);
		gdb_type_fini(&t);
	}
}

static void test_reference(void **state)
{
	struct gdb_type t = {.definition = xstrdup("const int &")};

	(void)state;
	gdb_type_classify(&t);
	assert_true(t.is_reference);
	assert_int_equal(t.kind, GDB_TYPE_INT);
	gdb_type_fini(&t);
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
		struct gdb_type t = {.definition = xstrdup(values[i].definition), .size = values[i].size};
		cleanup_free char *text = NULL;

		gdb_type_classify(&t);
		text = gdb_type_format(&t, values[i].value);
		assert_string_equal(text, values[i].text);
		gdb_type_fini(&t);
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
