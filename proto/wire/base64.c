/* SPDX-License-Identifier: MIT */
/* base64.c: see base64.h. */
#include "wire/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)p[i] << 16;

		v |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		v |= n > 2 ? p[i + 2] : 0;
		buf_add_char(out, alphabet[v >> 18]);
		buf_add_char(out, alphabet[v >> 12 & 63]);
		buf_add_char(out, n > 1 ? alphabet[v >> 6 & 63] : '=');
		buf_add_char(out, n > 2 ? alphabet[v & 63] : '=');
	}
}

/* The value of a digit, or -1. */
static int digit(char c)
{
	const char *p = c ? strchr(alphabet, c) : NULL;

	return p ? (int)(p - alphabet) : -1;
}

int base64_decode(struct buf *out, const char *text, size_t len)
{
	size_t pad = 0;

	if (len % 4)
		return -1;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len; i += 4) {
		size_t n = i + 4 == len ? 4 - pad : 4;
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			int d = k < n ? digit(text[i + k]) : 0;

			if (d < 0)
				return -1;
			v = v << 6 | (uint32_t)d;
		}
		for (size_t k = 0; k + 1 < n; k++)
			buf_add_char(out, (char)(v >> (16 - 8 * k)));
	}
	return 0;
}
