/* SPDX-License-Identifier: MIT */
/* test_footprint.c: which bytes are touched, and which are loaded first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executed/footprint.h"

static void expect(const struct footprint *f, uint64_t touched, uint64_t loaded)
{
	assert_int_equal(f->touched, touched);
	assert_int_equal(f->loaded, loaded);
}

static void first_loads(void **state)
{
	struct footprint f = {0};

	(void)state;
	footprint_add(&f, 0x1004, 8, FOOTPRINT_LOAD);
	footprint_add(&f, 0x1004, 8, FOOTPRINT_LOAD);
	expect(&f, 8, 8);
	footprint_add(&f, 0x1008, 8, FOOTPRINT_STORE);
	expect(&f, 12, 8);
	footprint_add(&f, 0x1008, 12, FOOTPRINT_LOAD); /* four bytes of it were not touched before */
	expect(&f, 16, 12);
	footprint_fini(&f);
}

static void across_pages(void **state)
{
	struct footprint f = {0};

	(void)state;
	footprint_add(&f, 0xffe, 4, FOOTPRINT_STORE);
	footprint_add(&f, 0x0, 0x3000, FOOTPRINT_LOAD);
	expect(&f, 0x3000, 0x3000 - 4);
	for (uint64_t page = 0; page < 5000; page++)
		footprint_add(&f, 0x7fff00000000 + page * 4096, 64, FOOTPRINT_LOAD);
	for (uint64_t page = 0; page < 5000; page++)
		footprint_add(&f, 0x7fff00000000 + page * 4096, 65, FOOTPRINT_LOAD);
	expect(&f, 0x3000 + 5000 * 65, 0x3000 - 4 + 5000 * 65);
	footprint_fini(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_loads),
		cmocka_unit_test(across_pages),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
