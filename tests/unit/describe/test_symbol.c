/* SPDX-License-Identifier: MIT */
/* Tests of reclog/symbol: on this program's own file, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "describe/symbol.h"

extern const char __ehdr_start[];

__attribute__((noinline)) int a_function_to_find(int v)
{
	return v * v + 1;
}

static void test_own_function(void **state)
{
	uint64_t at = (uint64_t)((const char *)(uintptr_t)a_function_to_find - __ehdr_start), offset;
	cleanup_free char *name = NULL;
	char exe[4096] = "";
	struct symbol_file f;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(a_function_to_find(2), 5);
	assert_true(symbol_open(&f, exe));
	assert_true(symbol_has_code(&f, at));
	assert_false(symbol_has_code(&f, 1ull << 40));
	name = symbol_name(&f, at + 1, &offset);
	assert_non_null(name);
	assert_string_equal(name, "a_function_to_find");
	assert_int_equal(offset, 1);
	symbol_close(&f);
}

static void test_no_elf(void **state)
{
	struct symbol_file f;

	assert_false(symbol_open(&f, "/dev/null"));
	symbol_close(&f);
	assert_false(symbol_open(&f, "/nonexistent/file"));
	symbol_close(&f);
	assert_false(symbol_open(&f, "/proc/self/cmdline"));
	symbol_close(&f);
}

/* Any byte of its heads and tables may be wrong: an answer or none, no crash. */
static void test_damaged(void **state)
{
	char path[] = "/tmp/fred-symbol.XXXXXX";
	cleanup_buf struct buf b = {0};
	struct err e;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(read_file("/proc/self/exe", &b, &e), 0);
	for (unsigned i = 0; i < 400; i++) {
		size_t at = i < 200 ? 16 + i % 48 : b.len - 1 - (size_t)(i * 37) % 4096;
		char was = b.data[at];
		struct symbol_file f;
		uint64_t offset;

		b.data[at] = (char)(i < 100 ? 0xff : i * 77);
		assert_int_equal(pwrite_full(fd, b.data, b.len, 0), 0);
		if (symbol_open(&f, path)) {
			symbol_has_code(&f, 0x1234);
			free(symbol_name(&f, 0x1234, &offset));
		}
		symbol_close(&f);
		b.data[at] = was;
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_function),
		cmocka_unit_test(test_no_elf),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
