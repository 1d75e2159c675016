/* SPDX-License-Identifier: MIT */
/* policy.c: see policy.h. */
#include "ckpt/policy.h"

#include "base/alloc.h"
#include "base/cleanup.h"

size_t ckpt_policy_victim(const struct ckpt_point *p, size_t n, uint64_t total)
{
	uint64_t best = UINT64_MAX;
	size_t victim = n;

	for (size_t i = 0; i < n; i++) {
		uint64_t left = i ? p[i - 1].event : 0, right = p[i].event, gap;

		if (p[i].keep)
			continue;
		if (i + 1 < n)
			right = p[i + 1].event;
		else if (!total)
			right = UINT64_MAX;
		else if (total > right)
			right = total;
		gap = right - left;
		if (gap < best || victim == n) {
			best = gap;
			victim = i;
		}
	}
	return victim;
}

/* Takes element i out of both arrays. */
static void take_out(struct ckpt_point *p, size_t *index, size_t n, size_t i)
{
	for (; i + 1 < n; i++) {
		p[i] = p[i + 1];
		index[i] = index[i + 1];
	}
}

static uint64_t sum_bytes(const struct ckpt_point *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i].bytes;
	return sum;
}

size_t ckpt_policy_thin(const struct ckpt_point *p, size_t n, uint64_t total, size_t max_count, uint64_t max_bytes,
			bool *drop)
{
	cleanup_free struct ckpt_point *left = xcalloc(n + 1, sizeof(*left));
	cleanup_free size_t *index = xcalloc(n + 1, sizeof(*index));
	uint64_t bytes = sum_bytes(p, n);
	size_t count = n;

	for (size_t i = 0; i < n; i++) {
		left[i] = p[i];
		index[i] = i;
		drop[i] = false;
	}
	while ((max_count && count > max_count) || (max_bytes && bytes > max_bytes)) {
		size_t i = ckpt_policy_victim(left, count, total);

		if (i == count)
			break;
		drop[index[i]] = true;
		bytes -= left[i].bytes;
		take_out(left, index, count--, i);
	}
	return n - count;
}
