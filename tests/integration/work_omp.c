/* SPDX-License-Identifier: MIT */
/* work_omp.c ROUNDS: OpenMP: loops with each schedule, reductions, tasks, sections, locks and ordered loops. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5000

static double a[N], b[N];

static long fibonacci(int n)
{
	long x, y;

	if (n < 2)
		return n;
#pragma omp task shared(x) if (n > 8)
	x = fibonacci(n - 1);
#pragma omp task shared(y) if (n > 8)
	y = fibonacci(n - 2);
#pragma omp taskwait
	return x + y;
}

static void loops(long round, double *sum)
{
	double s = 0;

#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		a[i] = (double)(i % 17) + (double)round;
#pragma omp parallel for schedule(guided)
	for (int i = 0; i < N; i++)
		b[i] = a[i] * 2 + a[N - 1 - i];
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : s)
	for (int i = 0; i < N; i++)
		s += b[i];
	*sum += s;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10, locked = 0, fib = 0, sections = 0, ordered = 0;
	unsigned long order = 1;
	double sum = 0;
	omp_lock_t lock;

	omp_set_num_threads(4);
	omp_init_lock(&lock);
	for (long r = 0; r < rounds; r++) {
		loops(r, &sum);
#pragma omp parallel
		{
			for (int i = 0; i < 20; i++) {
				omp_set_lock(&lock);
				locked++;
				order = order * 31 + (unsigned long)omp_get_thread_num();
				omp_unset_lock(&lock);
			}
#pragma omp single
			fib += fibonacci(14);
#pragma omp sections reduction(+ : sections)
			{
#pragma omp section
				sections += 1;
#pragma omp section
				sections += 2;
			}
#pragma omp for ordered schedule(dynamic)
			for (int i = 0; i < 30; i++) {
#pragma omp ordered
				ordered = ordered * 3 % 1000003 + i;
			}
		}
	}
	printf("%lx\n%.0f %ld %ld %ld %ld\n", order, sum, locked, fib, sections, ordered);
	return 0;
}
