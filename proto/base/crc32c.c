// SPDX-License-Identifier: MIT
/* crc32c.c: RFC 3720's CRC32C: SSE 4.2 instruction, or a byte table built at compile time. */
#include "base/crc32c.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"

#define POLY 0x82f63b78u /* reflected */

/* The table entry of a byte, worked out by the compiler: eight steps of the shift register. */
#define S1(c) (((c) >> 1) ^ (((c) & 1u) ? POLY : 0u))
#define S2(c) S1(S1(c))
#define S4(c) S2(S2(c))

static uint32_t half_step(uint32_t c)
{
	/* Low nibble through the register: 16 entries, small enough to stay in one cache line. */
	static const uint32_t nibble[16] = {
		S4(0u), S4(1u), S4(2u),	 S4(3u),  S4(4u),  S4(5u),  S4(6u),  S4(7u),
		S4(8u), S4(9u), S4(10u), S4(11u), S4(12u), S4(13u), S4(14u), S4(15u),
	};

	return nibble[c & 15] ^ (c >> 4);
}

uint32_t crc32c_soft(uint32_t crc, const void *p, size_t n)
{
	const uint8_t *b = p;

	crc = ~crc;
	for (size_t i = 0; i < n; i++)
		crc = half_step(half_step(crc ^ b[i]));
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(uint32_t crc, const uint8_t *b,
							     size_t n)
{
	uint64_t c = (uint32_t)~crc;

	for (; n >= 8; b += 8, n -= 8) {
		uint64_t word;

		memcpy(&word, b, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; n; b++, n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *b);
	return ~(uint32_t)c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse(crc, p, n);
#endif
	return crc32c_soft(crc, p, n);
}

int crc32c_file(const char *path, uint32_t *crc, uint64_t *size, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const size_t chunk = 1 << 18;
	cleanup_free char *p = NULL;
	ssize_t r;

	if (fd < 0)
		return err_errno(e, ERR_USAGE, "%s", path);
	p = xmalloc(chunk);
	*crc = 0;
	*size = 0;
	while ((r = read_full(fd, p, chunk)) > 0) {
		*crc = crc32c(*crc, p, (size_t)r);
		*size += (uint64_t)r;
	}
	return r < 0 ? err_errno(e, ERR_INTERNAL, "%s", path) : 0;
}
