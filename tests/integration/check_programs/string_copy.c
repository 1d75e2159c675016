/* SPDX-License-Identifier: MIT */
/* string_copy.c: A string is copied without room for its end. */
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *s)
{
	char *p = malloc(strlen(s)); /* ALLOC */

	strcpy(p, s); /* BAD: outside */
	return p;
}

int main(int argc, char **argv)
{
	char *p = copy_of(argc > 100 ? argv[100] : "sixteen letters.");

	p[0] = 'S';
	free(p);
	return 0;
}
