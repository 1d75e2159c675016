/* SPDX-License-Identifier: MIT */
/* test_util.c: the recorder's CRC-32C, which sums several parts side by side: the same as bit by bit, however it is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

uint32_t crc32c(uint32_t crc, const void *p, size_t n);

#define SIZE 6000

static uint32_t bit_by_bit(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return crc;
}

static void test_crc(void **state)
{
	static uint8_t bytes[SIZE];

	(void)state;
	srandom(1);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(random() >> 7);
	for (size_t n = 0; n < SIZE; n += n < 1100 ? 1 : 97) {
		uint32_t begin = (uint32_t)random(), want = bit_by_bit(begin, bytes, n);
		size_t cut = n ? (size_t)random() % n : 0;

		assert_int_equal(crc32c(begin, bytes, n), want);
		assert_int_equal(crc32c(crc32c(begin, bytes, cut), bytes + cut, n - cut), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_crc)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
