/* SPDX-License-Identifier: MIT */
/*
 * sorted.c: callbacks from libc (qsort, bsearch), expressions over a whole array, strings.
 *
 * LEVELS: -O0 -O2
 * EXPR: compared < 60
 * EXPR: v[0] <= v[1] && v[1] <= v[2]
 * EXPR: found == 0 || *found < 9
 * EXPR: label[0] != 'n'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
int v[6], compared, *found;
char label[16];

static int less(const void *a, const void *b)
{
	compared++;
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	for (int i = 0; i < 8; i++) {
		int key = i;

		pass = i;
		for (int k = 0; k < 6; k++)
			v[k] = (k * 5 + i * 3) % 11;
		qsort(v, 6, sizeof(v[0]), less);
		found = bsearch(&key, v, 6, sizeof(v[0]), less);
		strcpy(label, found ? "yes" : "no");
		if (i == 3)
			compared = 0;
	}
	v[1] = 40;
	found = &v[1];
	compared += 100;
	strcpy(label, "none");
	puts("end");
	_exit(1);
}
