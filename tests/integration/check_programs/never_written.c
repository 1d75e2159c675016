/* SPDX-License-Identifier: MIT */
/* never_written.c: Memory that was never written decides branches and addresses, and goes out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct item {
	int number, count;
	char name[8];
	struct item *next;
};

static struct item *item_of(int number)
{
	struct item *p = malloc(sizeof(*p)); /* ALLOC */

	p->number = number;
	memcpy(p->name, "item", 5);
	return p;
}

static int sum_of(int n)
{
	int v[8], sum = 0;

	for (int i = 0; i < n; i++)
		v[i] = i;
	for (int i = 0; i < 8; i++)
		sum += v[i];
	if (sum > 10) /* BAD: uninitialised */
		return 1;
	return 0;
}

static __attribute__((noinline)) void fill(int *n, int deed)
{
	if (deed)
		*n = 4;
}

/* The first one, or the other, by an instruction that moves if a flag is set. */
static int chosen(int first, int a, int b)
{
	__asm__("test %1, %1\n\tcmovne %2, %0" : "+r"(b) : "r"(first), "r"(a) : "cc");
	return b;
}

/* Functions that read write what they have got, not what there is room for. */
static int behind_what_was_read(void)
{
	char *line = malloc(100); /* ALLOC */
	FILE *f = fopen(__FILE__, "r");
	int bad = 0;

	if (!f || fread(line, 1, 3, f) != 3)
		return 1;
	if (line[2] == ' ' && line[3] == 'x') /* BAD: uninitialised */
		bad++;
	if (fgets(line, 100, f) && line[0] == 'S' && line[strlen(line) + 1] == 'x') /* BAD: uninitialised */
		bad++;
	fclose(f);
	free(line);
	return bad;
}

int main(void)
{
	struct item *p = item_of(3), copy = *p;
	char line[16], table[16] = "0123456789abcde";
	int *numbers = malloc(16 * sizeof(*numbers)), n, bad = sum_of(5) + behind_what_was_read(); /* ALLOC */
	double *halves = malloc(sizeof(*halves)); /* ALLOC */

	if (copy.count) /* BAD: uninitialised */
		bad++;
	if (copy.next != NULL && copy.number == 3) /* BAD: uninitialised */
		bad++;
	numbers = realloc(numbers, 4096 * sizeof(*numbers)); /* ALLOC */
	numbers[1] = 7;
	bad += table[numbers[1] & 7] == '7';
	bad += table[numbers[2] & 7] == '7'; /* BAD: uninitialised */
	if (chosen(0, numbers[3], 4) == 4)
		bad++;
	if (chosen(1, numbers[3], 4) == 4) /* BAD: uninitialised */
		bad++;
	if ((numbers[4] & 0xff) << numbers[1] & 0x40)
		bad++;
	if ((numbers[4] & 0xff) << numbers[1] & 0x80) /* BAD: uninitialised */
		bad++;
	fill(&n, bad < 0);
	switch (n & 1) { /* BAD: uninitialised */
	case 1:
		bad++;
	}
	if (*halves * 2 > 3.0) /* BAD: uninitialised */
		bad++;
	free(halves);
	free(numbers);
	free(p);
	memset(line, 'x', 8);
	bad += write(STDERR_FILENO, line, 12) == 12; /* BAD: uninitialised */
	bad += writev(STDERR_FILENO, (struct iovec[]){{line, 4}, {line + 4, 4}}, 2) == 8;
	bad += writev(STDERR_FILENO, (struct iovec[]){{line, 4}, {line + 4, 5}}, 2) == 9; /* BAD: uninitialised */
	return bad > 100;
}
