/* SPDX-License-Identifier: MIT */
/* never_written_vectors.c: Results of vector instructions decide, of memory that was written in part. */
#include <emmintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 32

/* The length of a string, by 16 bytes at once, which may be more than it has. */
static unsigned length(const char *p)
{
	unsigned mask, n = 0;

	for (;; n += 16) {
		mask = (unsigned)_mm_movemask_epi8(
			_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + n)), _mm_setzero_si128()));
		if (mask)
			return n + (unsigned)__builtin_ctz(mask);
	}
}

static int sum_of(const int *p)
{
	__m128i v = _mm_add_epi32(_mm_loadu_si128((const __m128i *)p), _mm_loadu_si128((const __m128i *)(p + 4)));

	v = _mm_add_epi32(v, _mm_srli_si128(v, 8));
	v = _mm_add_epi32(v, _mm_srli_si128(v, 4));
	return _mm_cvtsi128_si32(v);
}

/* Are the first n of 16 bytes the same? If one differs that was written, that decides. */
static int same(const char *p, const char *q, unsigned n)
{
	unsigned mask = (unsigned)_mm_movemask_epi8(
		_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), _mm_loadu_si128((const __m128i *)q)));

	return (mask & ((1u << n) - 1)) == (1u << n) - 1;
}

static int has_high_bit(const char *p)
{
	return _mm_movemask_epi8(_mm_slli_epi16(_mm_loadu_si128((const __m128i *)p), 1)) >> 7 & 1; /* of the eighth */
}

int main(void)
{
	char *p = malloc(N), *q = malloc(N); /* ALLOC */
	int *v = malloc(8 * sizeof(*v)), bad = 0; /* ALLOC */

	memcpy(p, "good", 5);
	memcpy(q, "goods", 6);
	for (int k = 0; k < 7; k++)
		v[k] = k;
	if (length(p) == length(q))
		bad++;
	bad += same(p, q, 3) + same(p, q, 7);
	if (same(p, "good\0and more of it", 7)) /* BAD: uninitialised */
		bad++;
	if (has_high_bit(p)) /* BAD: uninitialised */
		bad++;
	if (sum_of(v) > 100) /* BAD: uninitialised */
		bad++;
	v[7] = 3;
	if (sum_of(v) > 100)
		bad++;
	if (bad == 100)
		puts("");
	free(v);
	free(q);
	free(p);
	return 0;
}
