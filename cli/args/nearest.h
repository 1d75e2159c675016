/* SPDX-License-Identifier: MIT */
/* nearest.h: what a mistyped word may have been meant to be. Pure. */
#ifndef FRED_ARGS_NEAREST_H
#define FRED_ARGS_NEAREST_H

#include <stddef.h>

/* How many letters are wrong, missing, too many, or change places with their neighbours, in the first `len` bytes of
 * word. */
unsigned nearest_distance(const char *word, size_t len, const char *name);

struct nearest {
	const char *word;
	size_t len;
	const char *name; /* the best so far; NULL: none is near enough */
	unsigned distance;
};

/* Looks at one more name: taken when it begins with the word, or one in three letters is wrong at most. */
void nearest_try(struct nearest *n, const char *name);

#endif
