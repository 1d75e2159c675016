/* SPDX-License-Identifier: MIT */
/* gathers.c: Elements by a vector of indices, and those that a mask leaves out. */
#include <stdlib.h>
#include <string.h>

#define GATHER(p, index, mask)                                                                                         \
	__asm__("vmovdqu %1, %%xmm9\n\tvmovdqu %2, %%xmm2\n\tvpgatherdd %%xmm2, 4(%0,%%xmm9,4), %%xmm1"                \
		:                                                                                                      \
		: "r"(p), "m"(index), "m"(mask)                                                                        \
		: "xmm1", "xmm2", "xmm9")
#define STORE(p, mask)                                                                                                 \
	__asm__("vmovdqu %1, %%xmm9\n\tvpmaskmovd %%xmm9, %%xmm9, (%0)" : : "r"(p), "m"(mask) : "xmm9", "memory")
#define SCATTER(p, mask)                                                                                               \
	__asm__("vpbroadcastd %1, %%zmm17\n\tkmovw %1, %%k1\n\tvpscatterdd %%zmm17, 4(%0,%%zmm17,4)%{%%k1%}"           \
		:                                                                                                      \
		: "r"(p), "r"(mask)                                                                                    \
		: "memory")

int main(void)
{
	int *p = malloc(10 * sizeof(*p)); /* ALLOC */
	const int index[2][4] = {{8, 99, -1, 99}, {0, 9, 1, -1}}, mask[2][4] = {{-1, 0, -1, 0}, {-1, -1, -1, -1}};

	memset(p, 0, 10 * sizeof(*p));
	GATHER(p, index[0], mask[0]);
	GATHER(p, index[1], mask[0]);
	GATHER(p, index[1], mask[1]); /* BAD: outside */
	STORE(p + 7, mask[0]);
	STORE(p + 8, mask[0]); /* BAD: outside */
	if (__builtin_cpu_supports("avx512f"))
		SCATTER(p, 8);
	free(p);
	return 0;
}
