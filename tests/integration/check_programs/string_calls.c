/* SPDX-License-Identifier: MIT */
/* string_calls.c: Of many calls of libc's functions for strings, one is wrong: it is told where that is. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* called by its word, not through the procedure linkage table */
void *memmove(void *to, const void *from, size_t n) __attribute__((noplt));

#define TIMES 300

static sigjmp_buf out;
static char *volatile nothing;

static void handler(int sig)
{
	siglongjmp(out, sig);
}

int main(void)
{
	char *from = malloc(32), *to = malloc(40), *end, copy[64]; /* ALLOC */
	size_t n = 0;

	memset(from, 'a', 32);
	from[31] = 0;
	for (int i = 0; i < TIMES; i++)
		memcpy(copy, from, i == 200 ? 33 : 32); /* BAD: outside */
	for (int i = 0; i < TIMES; i++)
		memmove(to, copy, i == 201 ? 48 : 32); /* BAD: outside */
	for (int i = 0; i < TIMES; i++) {
		if (i == 202)
			from[31] = 'b';
		n += strlen(from + 8); /* BAD: outside */
		from[31] = 0;
		end = strchr(from, 'b');
		n += !end && !memcmp(from, to, 31) && !strcmp(from, to) && !memchr(from, 'b', 32);
	}
	signal(SIGSEGV, handler);
	if (!sigsetjmp(out, 1))
		memcpy(to, nothing, 8);
	memset(to, 'b', 40);
	free(to); /* FREE */
	n += memcmp(copy, to, 3) < 0; /* BAD: use-after-free */
	free(from);
	return n == 0;
}
