/* SPDX-License-Identifier: MIT */
/*
 * nearest.c: see nearest.h. The distance is that of Damerau and Levenshtein, in the form that allows no edit between
 * two transposed letters.
 */
#include "args/nearest.h"

#include <string.h>

#define MAX 32u /* longer words are not taken for misspelt names */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned nearest_distance(const char *word, size_t len, const char *name)
{
	unsigned d[MAX + 1][MAX + 1];
	size_t n = strlen(name);

	if (len > MAX || n > MAX)
		return MAX;
	for (unsigned i = 0; i <= len; i++)
		d[i][0] = i;
	for (unsigned j = 0; j <= n; j++)
		d[0][j] = j;
	for (unsigned i = 1; i <= len; i++)
		for (unsigned j = 1; j <= n; j++) {
			unsigned same = word[i - 1] == name[j - 1];

			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + !same);
			if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[len][n];
}

void nearest_try(struct nearest *n, const char *name)
{
	unsigned distance = nearest_distance(n->word, n->len, name);
	size_t longer = strlen(name) > n->len ? strlen(name) : n->len;

	if (n->len > 1 && !strncmp(n->word, name, n->len))
		distance = 1;
	else if (distance > (longer + 1) / 3)
		return;
	if (n->name && n->distance <= distance)
		return;
	n->name = name;
	n->distance = distance;
}
