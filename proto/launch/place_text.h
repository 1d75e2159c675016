/* SPDX-License-Identifier: MIT */
/* place_text.h: the text of files in /proc, for place.h. Freestanding: the recorder includes it too. */
#ifndef FRED_LAUNCH_PLACE_TEXT_H
#define FRED_LAUNCH_PLACE_TEXT_H

#include <stdint.h>

/* Does s start with the other text? */
static inline int place_starts(const char *s, const char *with)
{
	while (*with)
		if (*s++ != *with++)
			return 0;
	return 1;
}

/* The number at *s, which is set to the first character behind it. */
static inline uint64_t place_number(const char **s, unsigned base)
{
	uint64_t v = 0;

	for (;; ++*s) {
		unsigned c = (unsigned char)**s, d = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 99;

		if (d >= base)
			return v;
		v = v * base + d;
	}
}

#endif
