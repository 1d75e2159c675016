/* SPDX-License-Identifier: MIT */
/*
 * What OpenMP orders: reductions, atomic statements, critical sections, barriers and tasks.
 *
 * CFLAGS: -fopenmp
 */
#include <stdio.h>

#define N 400

static double a[N], tops[8];

int main(void)
{
	double sum = 0, total = 0;
	int count = 0;

#pragma omp parallel for
	for (int i = 0; i < N; i++)
		a[i] = i * 0.5;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 20)
	for (int i = 0; i < N; i++)
		sum += a[i];
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp atomic
		total += a[i];
	}
#pragma omp parallel
	{
#pragma omp critical
		count++;
#pragma omp barrier
#pragma omp single
		a[0] = count;
	}
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
		tops[i] = a[i] + i;
	}
	printf("%g %g %g\n", sum, total, tops[7]);
	return 0;
}
