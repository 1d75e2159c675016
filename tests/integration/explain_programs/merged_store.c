/* SPDX-License-Identifier: MIT */
/* Optimized, both assignments become one store, which has the line of the loop. KIND: jump */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static char given[600];

static void __attribute__((noinline)) lower(const char *text)
{
	char name[256];
	static int i;

	for (i = 0; i < (int)strlen(text); i++) {
		if (isupper((unsigned char)text[i])) {
			name[i] = tolower((unsigned char)text[i]); /* BUG */
			continue;
		}
		name[i] = text[i];
	}
	name[i] = '\0';
	puts(name);
}

int main(void)
{
	memset(given, 'K', sizeof(given) - 1);
	lower(given);
	return 0;
}
