/* SPDX-License-Identifier: MIT */
/* util.c: the little that the shim would otherwise take from libc: CRC-32C, text building, small files. */
#include "record/core/util.h"
#include "base/crc32c_hw.h"
#include "common/raw.h"

static uint32_t crc32c_sw(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (0x82f63b78u & -(crc & 1));
	}
	return crc;
}

/* Without the usual inversion: results are only compared with each other. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	return crc32c_has_hw() ? crc32c_hw(crc, p, n) : crc32c_sw(crc, p, n);
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

uint64_t parse_number(const char **s, unsigned base)
{
	uint64_t v = 0;

	for (;; (*s)++) {
		unsigned c = (unsigned char)**s;
		unsigned d = c - '0' < 10 ? c - '0' : c - 'a' + 10;

		if (d >= base)
			break;
		v = v * base + d;
	}
	if (**s)
		(*s)++;
	return v;
}

int image_bias(const Elf64_Phdr *p, uint64_t n, uint64_t *bias)
{
	for (uint64_t i = 0; i < n; i++) {
		if (p[i].p_type != PT_PHDR)
			continue;
		*bias = (uint64_t)p - p[i].p_vaddr;
		return 0;
	}
	return -1;
}
