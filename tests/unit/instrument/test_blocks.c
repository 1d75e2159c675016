/* SPDX-License-Identifier: MIT */
/* test_blocks.c: which arenas the blocks are in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "instrument/blocks.h"

/* Also if another process allocated them, before it forked. */
static void above(void **state)
{
	static const struct moment unknown;
	struct blocks b;

	(void)state;
	blocks_init(&b);
	blocks_add(&b, SHIM_HEAP_MAIN_ADDR + 16, 24, &unknown);
	blocks_add(&b, SHIM_HEAP_ADDR + ((REPORT_HEAP_THREADS - 1) << 32), 24, &unknown);
	assert_false(b.above);
	blocks_add(&b, SHIM_HEAP_ADDR + (REPORT_HEAP_THREADS << 32), 24, &unknown);
	assert_true(b.above);
	blocks_fini(&b);
}

/* Those whose memory was another block's before are counted. */
static void reused(void **state)
{
	static const struct moment unknown;
	const uint64_t at = SHIM_HEAP_MAIN_ADDR + 16;
	struct blocks b;

	(void)state;
	blocks_init(&b);
	blocks_add(&b, at, 24, &unknown);
	blocks_free(&b, blocks_at(&b, at), &unknown);
	assert_int_equal(b.reused, 0);
	blocks_add(&b, at, 20, &unknown);
	blocks_add(&b, at + 64, 24, &unknown);
	assert_int_equal(b.reused, 1);
	blocks_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(above), cmocka_unit_test(reused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
