/* SPDX-License-Identifier: MIT */
/* A write past the end of an array changes the pointer that the loop moves on. KIND: segfault */
#include <stdio.h>

struct words {
	char key[8];
	const char *s;
};

int main(void)
{
	struct words w = {.s = "a name"};

	for (int i = 4; *w.s; w.s++, i += 8) /* the second one goes to the middle of the pointer */
		w.key[i] = *w.s; /* BUG */
	printf("%s\n", w.key);
	return 0;
}
