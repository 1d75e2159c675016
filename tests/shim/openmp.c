/* SPDX-License-Identifier: MIT */
/*
 * openmp.c: parallel loops, reductions, critical sections, barriers and single: all of it is libgomp's own
 * atomics and futexes.
 *
 * CFLAGS: -fopenmp
 * NONDET-OUTPUT
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <omp.h>

#define N 20000

static int a[N];

int main(void)
{
	unsigned long order = 1;
	long sum = 0;
	int singles = 0, threads = 0;

	omp_set_num_threads(4);
	for (int r = 0; r < 20; r++) {
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100)
		for (int i = 0; i < N; i++) {
			a[i] += i;
			sum += a[i];
		}
#pragma omp parallel for schedule(dynamic, 1)
		for (int i = 0; i < 100; i++) {
#pragma omp critical
			order = order * 31 + (unsigned long)omp_get_thread_num() * 7 + (unsigned long)i;
		}
#pragma omp parallel
		{
#pragma omp atomic
			threads++;
#pragma omp barrier
#pragma omp single
			singles++;
		}
	}
	CHECK(sum == (long)N * (N - 1) / 2 * 210);
	CHECK(singles == 20 && threads == 80);
	printf("%lx\n", order);
	step("openmp");
	return check_status();
}
