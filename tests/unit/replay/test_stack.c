/* SPDX-License-Identifier: MIT */
/* test_stack.c: which frame of a stack a user means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/stack.h"

static struct gdb_frame in_file(char *path)
{
	return (struct gdb_frame){.func = "f", .file = path, .fullname = path, .line = 1};
}

static void own_frame_is_no_header(void **state)
{
	/* as gcc and as clang name the headers of the C++ library */
	struct gdb_frame frames[] = {
		in_file("/usr/include/c++/12/bits/stl_vector.h"),
		in_file("/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h"),
		in_file("/home/u/usr/include/own.h"),
		in_file("/home/u/main.cc"),
	};

	assert_int_equal(stack_own_frame(frames, 4, 0), 2);
	assert_int_equal(stack_own_frame(frames, 4, 3), 3);
	assert_int_equal(stack_user_frame(frames, 4), 2);
	assert_int_equal(stack_own_frame(frames, 2, 0), 2); /* there is none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(own_frame_is_no_header)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
