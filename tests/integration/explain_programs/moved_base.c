/* SPDX-License-Identifier: MIT */
/* Optimized, the array is written by an address in front of it, as the index is counted first. KIND: jump */
#include <stdio.h>
#include <string.h>

static void tell(int n)
{
	printf("%d\n", n);
}

static struct {
	const char *words[8];
	void (*tell)(int);
	int n;
} line = {.tell = tell};

int main(void)
{
	char text[] = "a bb ccc dddd eeeee f g h i";

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		line.words[line.n++] = word; /* BUG */
	line.tell(line.n);
	return 0;
}
