/* SPDX-License-Identifier: MIT */
/* util.c: the little that the shim would otherwise take from libc: CRC-32C, text building. */
#include "record/shim.h"

__attribute__((target("sse4.2"))) static uint32_t crc32c_hw(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t c = crc;

	while (n >= 8) {
		uint64_t v;

		__builtin_memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
		p += 8;
		n -= 8;
	}
	while (n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}

static uint32_t crc32c_sw(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (0x82f63b78u & -(crc & 1));
	}
	return crc;
}

/* Not inverted at the ends: only ever compared with itself. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	return __builtin_cpu_supports("sse4.2") ? crc32c_hw(crc, p, n) : crc32c_sw(crc, p, n);
}

/* All fmt_* append to [p, end), keep one byte for a NUL, write it, and return the new end of text. */
char *fmt_str(char *p, char *end, const char *s)
{
	while (*s && p < end - 1)
		*p++ = *s++;
	*p = 0;
	return p;
}

char *fmt_dec(char *p, char *end, uint64_t v, int width)
{
	char tmp[24];
	int n = 0;

	do {
		tmp[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v || n < width);
	while (n && p < end - 1)
		*p++ = tmp[--n];
	*p = 0;
	return p;
}

char *fmt_hex(char *p, char *end, uint64_t v)
{
	char tmp[20];
	int n = 0;

	do {
		tmp[n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	while (n && p < end - 1)
		*p++ = tmp[--n];
	*p = 0;
	return p;
}
