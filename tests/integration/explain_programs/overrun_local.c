/* SPDX-License-Identifier: MIT */
/* KIND: segfault. A name is too long for its array: it goes over a variable, and over the frame's return address. */
/* CFLAGS: -fno-stack-protector */
#include <stdio.h>
#include <string.h>

static char input[200];

static int last_of(const char *given)
{
	char name[16];
	unsigned long size = strlen(given);

	strcpy(name, given); /* BUG */
	return name[size - 1];
}

int main(void)
{
	printf("%c\n", last_of("short"));
	memset(input, 'A', sizeof(input) - 1);
	printf("%c\n", last_of(input));
	return 0;
}
