/* SPDX-License-Identifier: MIT */
/* parts.c: with "1" it goes another way than with "0" after a thousand passes, and fails. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int table[64];

static int *pick(int wrong)
{
	static int spare[64];

	if (wrong) /* IF */
		return NULL; /* PART */
	return spare;
}

static __attribute__((noinline)) void refuse(int code)
{
	fputs("refused\n", stderr);
	exit(code);
}

int main(int argc, char **argv)
{
	int wrong = atoi(argv[1]), sum = 0, *to;
	FILE *f = fopen("input", "r");
	struct timespec now;
	char text[4];

	if (argc != 2 || fread(text, 1, 4, f) != 4)
		return 2;
	for (int i = 0; i < 4000; i++) /* the log is large enough to be compressed */
		timespec_get(&now, TIME_UTC); /* CLOCK */
	for (int i = 0; i < 1000; i++)
		sum += table[i % 64];
	if (sum > 10) /* REFUSES */
		refuse(sum);
	to = pick(wrong);
	for (int i = 0; i < 16; i++)
		table[i] = table[i + 16] + sum; /* AFTER */
	to[0] = table[3]; /* FAILS */
	printf("%02d\n", to[0] + argv[1][1]); /* OUTPUT: "00" writes another number than "0" */
	return 0;
}
