/* SPDX-License-Identifier: MIT */
/*
 * bisect.h: the arithmetic of a bisection whose midpoints may be uneven, within a number of evaluations that is fixed
 * at the start.
 */
#ifndef FRED_SEARCH_BISECT_H
#define FRED_SEARCH_BISECT_H

#include <stdbool.h>
#include <stdint.h>

struct bisect {
	uint64_t left, right; /* good, bad; left < right */
	unsigned budget; /* evaluations left; right - left <= 2^budget always */
};

/* The smallest k with n <= 2^k; 0 for n <= 1. */
unsigned bisect_log2_ceil(uint64_t n);

/* left < right. The bisection takes at most ceil(log2(right - left)) + slack evaluations. */
void bisect_init(struct bisect *b, uint64_t left, uint64_t right, unsigned slack);
/* Begins another stage, which also takes at most ceil(log2(right - left)) + slack evaluations for what is left. */
void bisect_limit(struct bisect *b, unsigned slack);
/* Are the two ends neighbours? */
bool bisect_done(const struct bisect *b);
/* The midpoints that keep the bound: *first <= middle <= *last, strictly between the ends. */
void bisect_window(const struct bisect *b, uint64_t *first, uint64_t *last);
/* The allowed midpoint nearest to the wanted one. */
uint64_t bisect_clamp(const struct bisect *b, uint64_t wanted);
uint64_t bisect_middle(const struct bisect *b);
/* Records that the midpoint `at`, from the window, was found good or bad. */
void bisect_put(struct bisect *b, uint64_t at, bool bad);

#endif
