/* SPDX-License-Identifier: MIT */
/* util.c: the little that the shim would otherwise take from libc: CRC-32C, text building, small files. */
#include "record/shim.h"

#include <wmmintrin.h>

/*
 * The processor has a CRC instruction that can begin each cycle and takes three: so three parts are summed side by side, and
 * then joined. In front of n bytes more a sum is multiplied by x^(8 * n); the carry-less product of two such words has
 * a factor x too little and the instruction, which reduces it, multiplies by x^32.
 */
#define LANE 168 /* bytes */
#define BEHIND_1 0x1b3d8f29u /* x^(8 * LANE - 33) modulo the polynomial, reflected */
#define BEHIND_2 0xa60ce07bu /* x^(16 * LANE - 33) */

__attribute__((target("sse4.2,pclmul"))) static uint64_t crc32c_shift(uint64_t crc, uint32_t by)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128((int)by), 0);

	return __builtin_ia32_crc32di(0, (uint64_t)_mm_cvtsi128_si64(product));
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc32c_hw(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t c = crc;

	for (; n >= 3 * LANE; p += 3 * LANE, n -= 3 * LANE) {
		uint64_t d = 0, e = 0;

		for (unsigned i = 0; i < LANE; i += 8) {
			c = __builtin_ia32_crc32di(c, load64(p + i));
			d = __builtin_ia32_crc32di(d, load64(p + LANE + i));
			e = __builtin_ia32_crc32di(e, load64(p + 2 * LANE + i));
		}
		c = crc32c_shift(c, BEHIND_2) ^ crc32c_shift(d, BEHIND_1) ^ e;
	}
	for (; n >= 8; p += 8, n -= 8)
		c = __builtin_ia32_crc32di(c, load64(p));
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
	int hw = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");

	return hw ? crc32c_hw(crc, p, n) : crc32c_sw(crc, p, n);
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

long read_head(const char *path, void *buf, size_t size)
{
	int fd = raw_open(path, O_RDONLY, 0);
	long n;

	if (fd < 0)
		return fd;
	n = raw3(SYS_read, fd, buf, size);
	raw_close(fd);
	return n;
}

char read_task_state(const char *stat)
{
	char buf[256]; /* "PID (NAME) STATE ..." */
	long n = read_head(stat, buf, sizeof(buf));

	while (n > 2 && buf[n - 1] != ')')
		n--;
	return n > 2 && n + 1 < (long)sizeof(buf) ? buf[n + 1] : 0;
}
