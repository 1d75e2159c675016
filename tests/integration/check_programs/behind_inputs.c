/* SPDX-License-Identifier: MIT */
/* behind_inputs.c: What comes after an instruction whose result is an event is examined, too. */
#include <cpuid.h>
#include <stdlib.h>
#include <x86intrin.h>

static int *block;

int main(void)
{
	unsigned a, b, c, d;

	block = malloc(10 * sizeof(*block)); /* ALLOC */
	if (!__rdtsc())
		return 1;
	block[10] = 1; /* BAD: outside */
	__cpuid(0, a, b, c, d);
	block[11] = (int)(a | b | c | d); /* BAD: outside */
	return 0;
}
