/* SPDX-License-Identifier: MIT */
/*
 * matrix.c: floating point, long and short integers, locals of loops that an optimising compiler transforms.
 *
 * EXPR: residual < 2.5
 * EXPR: best < 40
 * IN: solve
 * EXPR: norm2(vec) <= 120
 * AS: vec[0] * vec[0] + vec[1] * vec[1] + vec[2] * vec[2] <= 120
 * MAYBE: yes
 * EXPR: big > 0
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
volatile double residual;
double vec[3];
long long big = 1;
volatile int sink;

double norm2(const double *v)
{
	return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

__attribute__((noinline)) static int cost(int i)
{
	pass = i;
	return i * 7 % 11 + i;
}

__attribute__((noinline)) static int solve(int n)
{
	int best = 0;

	for (int i = 0; i < n; i++) {
		int c = cost(i);

		if (c > 8)
			best += c - 8;
		residual = (i % 5) * 0.6 + i * 0.1;
		vec[i % 3] = i % 7 * 2;
		big = big * 1103515245 + (i == 9 ? 0 : 12345);
		sink = best;
		if (i % 4 == 3)
			getppid();
	}
	printf("%d %f\n", best, norm2(vec));
	fflush(stdout);
	residual = 2.0;
	residual = 3.0;
	big = 4;
	big = -4;
	vec[0] = vec[1] = 9;
	if (best > 3)
		_exit(1);
	return best;
}

int main(void)
{
	return solve(13);
}
