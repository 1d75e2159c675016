/* SPDX-License-Identifier: MIT */
/* What is freed is no block: it lies in another object. KIND: heap */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct req {
	char *buf;
	char small[16];
};
static __attribute__((noinline)) void init(struct req *r, size_t n)
{
	if (n <= sizeof(r->small))
		r->buf = r->small; /* BUG */
	else
		r->buf = malloc(n);
}
static __attribute__((noinline)) void fini(struct req *r)
{
	free(r->buf);
}
int main(void)
{
	struct req r;
	init(&r, 100);
	fini(&r);
	init(&r, 10);
	puts("small");
	fini(&r);
	return 0;
}
