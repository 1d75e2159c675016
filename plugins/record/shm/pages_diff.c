/* SPDX-License-Identifier: MIT */
/*
 * pages_diff.c: what differs between two states of a page. A turn of a group begins and ends with that, for each page
 * in use, so it goes by cache lines: most are equal.
 */
#include "record/shm/pages.h"

#include <string.h>

#define LINE 64u
#define WORDS_OF(n) ((n) / 8)

static inline uint64_t line_differs(const uint64_t *a, const uint64_t *b)
{
	return (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]) |
	       (a[6] ^ b[6]) | (a[7] ^ b[7]);
}

uint64_t pages_diff(const uint8_t *was, const uint8_t *now, uint8_t *out)
{
	const uint64_t *a = (const uint64_t *)was, *b = (const uint64_t *)now;
	uint8_t *p = out;

	for (uint32_t i = 0; i < WORDS_OF(PAGE);) {
		uint32_t from = i;
		uint16_t at, n;

		if (i % WORDS_OF(LINE) == 0 && !line_differs(a + i, b + i)) {
			i += WORDS_OF(LINE);
			continue;
		}
		while (i < WORDS_OF(PAGE) && a[i] != b[i])
			i++;
		if (i == from) {
			i++;
			continue;
		}
		at = (uint16_t)(from * 8);
		n = (uint16_t)((i - from) * 8);
		memcpy(p, &at, 2);
		memcpy(p + 2, &n, 2);
		memcpy(p + 4, now + at, n);
		p += 4 + n;
	}
	return (uint64_t)(p - out);
}

uint64_t pages_whole(const uint8_t *now, uint8_t *out)
{
	static const uint16_t head[2] = {0, PAGE};

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), now, PAGE);
	return sizeof(head) + PAGE;
}

int pages_equal(const uint8_t *a, const uint8_t *b)
{
	for (uint32_t i = 0; i < PAGE; i += LINE)
		if (line_differs((const uint64_t *)(a + i), (const uint64_t *)(b + i)))
			return 0;
	return 1;
}

int pages_copy_changes(uint8_t *to, const uint8_t *from)
{
	int any = 0;

	for (uint32_t i = 0; i < PAGE; i += LINE)
		if (line_differs((const uint64_t *)(to + i), (const uint64_t *)(from + i))) {
			__builtin_memcpy(to + i, from + i, LINE);
			any = 1;
		}
	return any;
}
