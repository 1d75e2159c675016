/* SPDX-License-Identifier: MIT */
/* The condition is in the caller of the function that ends the program. KIND: exit */
#include <stdio.h>
#include <stdlib.h>

static int limit = 10;

static void parse(const char *s)
{
	limit = atoi(s); /* BUG */
}

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(3);
}

int main(void)
{
	parse("-5");
	if (limit < 0)
		die("limit");
	return 0;
}
