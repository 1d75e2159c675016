/* SPDX-License-Identifier: MIT */
/* Buffers are swapped, and their sizes are not: a null pointer, with an index that is 0, too. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>

static char *last;
static int last_len;

static int __attribute__((noinline)) copy(const char *text)
{
	static char *buf;
	static int size;
	int i = 0;

	while (*text) {
		if (i + 2 > size) {
			size = 64 + 2 * i;
			buf = realloc(buf, (size_t)size);
		}
		buf[i++] = *text++;
	}
	buf[i] = '\0';
	{
		char *p = buf;

		buf = last; /* BUG: and size? */
		last = p;
		last_len = i;
	}
	return i;
}

int main(void)
{
	int n = copy("one");

	puts(last);
	n += copy("two");
	printf("%d %d\n", n, last_len);
	return 0;
}
