/* SPDX-License-Identifier: MIT */
/* bisect.c: see bisect.h. */
#include "search/bisect.h"

unsigned bisect_log2_ceil(uint64_t n)
{
	return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

void bisect_init(struct bisect *b, uint64_t left, uint64_t right, unsigned slack)
{
	b->left = left;
	b->right = right;
	b->budget = bisect_log2_ceil(right - left) + slack;
}

void bisect_limit(struct bisect *b, unsigned slack)
{
	unsigned most = bisect_log2_ceil(b->right - b->left) + slack;

	if (b->budget > most)
		b->budget = most;
}

bool bisect_done(const struct bisect *b)
{
	return b->right - b->left <= 1;
}

uint64_t bisect_middle(const struct bisect *b)
{
	return b->left + (b->right - b->left) / 2;
}

void bisect_window(const struct bisect *b, uint64_t *first, uint64_t *last)
{
	uint64_t side = b->budget > 64 ? UINT64_MAX : 1ull << (b->budget - 1);
	uint64_t n = b->right - b->left;

	/* Either half must be solvable with one evaluation less. */
	*first = n > side ? b->right - side : b->left + 1;
	*last = n > side ? b->left + side : b->right - 1;
	if (*first == b->left)
		*first = b->left + 1;
	if (*last == b->right)
		*last = b->right - 1;
}

uint64_t bisect_clamp(const struct bisect *b, uint64_t wanted)
{
	uint64_t first, last;

	bisect_window(b, &first, &last);
	return wanted < first ? first : wanted > last ? last : wanted;
}

void bisect_put(struct bisect *b, uint64_t at, bool bad)
{
	if (bad)
		b->right = at;
	else
		b->left = at;
	b->budget--;
}
