// SPDX-License-Identifier: MIT
/* crc32c.c: RFC 3720's CRC32C: the processor's instruction, or a byte table built at compile time. */
#include "base/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crc32c_hw.h"
#include "base/fdio.h"

#define POLY 0x82f63b78u /* the polynomial, reflected */

/* The table entry of a byte, worked out by the compiler: eight steps of the shift register. */
#define S1(c) (((c) >> 1) ^ (((c)&1u) ? POLY : 0u))
#define S2(c) S1(S1(c))
#define S4(c) S2(S2(c))

static uint32_t half_step(uint32_t c)
{
	/* a byte is taken in two steps, low half first: 16 entries are small enough to stay in one cache line */
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

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	return crc32c_has_hw() ? ~crc32c_hw(~crc, p, n) : crc32c_soft(crc, p, n);
}

/* ---- zeros ---- */

/* a * b modulo the polynomial; the bits of a word are coefficients, the highest one's that of 1. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (a & bit)
			r ^= b;
		b = (b & 1) ? b >> 1 ^ POLY : b >> 1;
	}
	return r;
}

uint32_t crc32c_zeros(uint32_t crc, uint64_t n)
{
	uint32_t power = 1u << 23, factor = 1u << 31; /* x^8, 1 */

	for (; n; n >>= 1, power = multiply(power, power))
		if (n & 1)
			factor = multiply(factor, power);
	return ~multiply(~crc, factor);
}

/* ---- files ---- */

int crc32c_file(const char *path, uint32_t *crc, uint64_t *size, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const size_t chunk = 1 << 18;
	cleanup_free char *p = NULL;
	struct stat st;
	off_t next;
	ssize_t r;

	if (fd < 0 || fstat(fd, &st))
		return err_errno(e, ERR_USAGE, "%s", path);
	p = xmalloc(chunk);
	*crc = 0;
	*size = 0;
	do {
		next = next_data(fd, (off_t)*size, st.st_size);
		if (next > (off_t)*size && lseek(fd, next, SEEK_SET) < 0)
			return err_errno(e, ERR_INTERNAL, "%s", path);
		*crc = crc32c_zeros(*crc, (uint64_t)next - *size);
		*size = (uint64_t)next;
		r = read_full(fd, p, chunk);
		*crc = crc32c(*crc, p, r > 0 ? (size_t)r : 0);
		*size += r > 0 ? (uint64_t)r : 0;
	} while (r > 0);
	return r < 0 ? err_errno(e, ERR_INTERNAL, "%s", path) : 0;
}
