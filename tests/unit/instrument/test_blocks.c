/* SPDX-License-Identifier: MIT */
/* test_blocks.c: which arenas the blocks are in, and large blocks. */
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

/* A block of a TiB costs little; what a recording says of a block that goes beyond its arena is not taken. */
static void large(void **state)
{
	static const struct moment unknown;
	const uint64_t at = SHIM_HEAP_MAIN_ADDR + 16, len = 1ull << 40, thread = SHIM_HEAP_ADDR + (3ull << 32) + 16;
	uint64_t bad = 0;
	struct blocks b;

	(void)state;
	blocks_init(&b);
	blocks_add(&b, at, len + 5, &unknown);
	assert_true(blocks_allow(&b, at, 4096, &bad));
	assert_true(blocks_allow(&b, at + len - 4096, 4096 + 5, &bad));
	assert_false(blocks_allow(&b, at + len, 6, &bad));
	assert_int_equal(bad, at + len + 5);
	blocks_resize(&b, blocks_at(&b, at), len - (5 << 20));
	assert_false(blocks_allow(&b, at + len - (2 << 20), 1, &bad));
	assert_false(blocks_is_freed(&b, at + len - (2 << 20)));
	blocks_resize(&b, blocks_at(&b, at), UINT64_MAX);
	blocks_free(&b, blocks_at(&b, at), &unknown);
	assert_true(blocks_is_freed(&b, at) && blocks_is_freed(&b, at + len / 2));
	assert_false(blocks_is_freed(&b, at + len - (2 << 20)));
	blocks_add(&b, at + len / 2, 24, &unknown);
	assert_true(blocks_allow(&b, at + len / 2, 24, &bad));
	assert_true(blocks_is_freed(&b, at + len / 2 - 1) && blocks_is_freed(&b, at + len / 2 + 32));
	blocks_add(&b, thread, 1ull << 32, &unknown);
	blocks_add(&b, at, UINT64_MAX, &unknown);
	assert_null(blocks_at(&b, thread));
	assert_true(blocks_fit(thread, UINT32_MAX - 32));
	blocks_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(above), cmocka_unit_test(large)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
