/* SPDX-License-Identifier: MIT */
/* mi_quote.c: see mi_quote.h. Control characters become octal escapes; UTF-8 passes as it is. */
#include <stdlib.h>

#include "gdb/mi_quote.h"

static char *put_octal(char *w, unsigned char ch)
{
	*w++ = '\\';
	*w++ = (char)('0' + (ch >> 6));
	*w++ = (char)('0' + ((ch >> 3) & 7));
	*w++ = (char)('0' + (ch & 7));
	return w;
}

char *mi_quote(const char *text)
{
	size_t n = 3;
	char *out, *w;

	for (const char *p = text; *p; p++)
		n += (unsigned char)*p < 0x20 || *p == 0x7f ? 4 : 2;
	out = w = malloc(n);
	if (!out)
		return NULL;
	*w++ = '"';
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			w = put_octal(w, (unsigned char)*p);
			continue;
		}
		if (*p == '"' || *p == '\\')
			*w++ = '\\';
		*w++ = *p;
	}
	*w++ = '"';
	*w = '\0';
	return out;
}
