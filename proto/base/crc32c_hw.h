/* SPDX-License-Identifier: MIT */
/* crc32c_hw.h: CRC-32C by the processor's instruction, for the recorder too: nothing of libc. */
#ifndef FRED_BASE_CRC32C_HW_H
#define FRED_BASE_CRC32C_HW_H

#include <stddef.h>
#include <stdint.h>
#include <wmmintrin.h>

/*
 * The processor can start a CRC instruction in each cycle, and one takes three cycles: so three parts are summed side
 * by side, and then joined. To append n bytes, a sum is multiplied by x^(8 * n). The carry-less product of two
 * reflected words lacks a factor of x, and the CRC instruction, which reduces the product, multiplies it by x^32: so
 * the constants below have exponents that are 33 too small.
 */
#define CRC32C_LANE 168 /* bytes */
#define CRC32C_SHIFT_1 0x1b3d8f29u /* x^(8 * CRC32C_LANE - 33) modulo the polynomial, reflected */
#define CRC32C_SHIFT_2 0xa60ce07bu /* x^(16 * CRC32C_LANE - 33) */

__attribute__((target("sse4.2,pclmul"))) static inline uint64_t crc32c_shift(uint64_t crc, uint32_t by)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128((int)by), 0);

	return __builtin_ia32_crc32di(0, (uint64_t)_mm_cvtsi128_si64(product));
}

static inline uint64_t crc32c_load64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline int crc32c_has_hw(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

/* Not inverted at the ends. */
__attribute__((target("sse4.2,pclmul"))) static inline uint32_t crc32c_hw(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t c = crc;

	for (; n >= 3 * CRC32C_LANE; p += 3 * CRC32C_LANE, n -= 3 * CRC32C_LANE) {
		uint64_t d = 0, e = 0;

		for (unsigned i = 0; i < CRC32C_LANE; i += 8) {
			c = __builtin_ia32_crc32di(c, crc32c_load64(p + i));
			d = __builtin_ia32_crc32di(d, crc32c_load64(p + CRC32C_LANE + i));
			e = __builtin_ia32_crc32di(e, crc32c_load64(p + 2 * CRC32C_LANE + i));
		}
		c = crc32c_shift(c, CRC32C_SHIFT_2) ^ crc32c_shift(d, CRC32C_SHIFT_1) ^ e;
	}
	for (; n >= 8; p += 8, n -= 8)
		c = __builtin_ia32_crc32di(c, crc32c_load64(p));
	while (n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}

#endif
