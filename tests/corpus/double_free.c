/* SPDX-License-Identifier: MIT */
/*
 * double_free.c: a reference is dropped once too often, the buffer is freed twice, and the program aborts.
 *
 * EXPECT-EXPR: live_buffers >= 0
 * EXPECT-LINE: BUG: counted twice
 * EXPECT-FUNC: buffer_put
 * EXPECT-EXIT: 134
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	char text[100];
	int refs;
};

static int live_buffers;

static __attribute__((noinline)) struct buffer *buffer_new(unsigned i)
{
	struct buffer *b = malloc(sizeof(*b));

	b->refs = 1;
	snprintf(b->text, sizeof(b->text), "buffer %u", i);
	live_buffers++;
	return b;
}

static __attribute__((noinline)) void buffer_put(struct buffer *b)
{
	if (b->refs-- > 1)
		return;
	live_buffers -= 1; /* BUG: counted twice */
	if (live_buffers < -1) {
		fprintf(stderr, "buffers: %d\n", live_buffers);
		abort();
	}
	free(b);
}

static __attribute__((noinline)) unsigned use(struct buffer *b)
{
	unsigned h = 0;

	for (const char *p = b->text; *p; p++)
		h = h * 31 + *p;
	puts(b->text);
	return h;
}

/* The error path puts the buffer that its caller puts too. */
static __attribute__((noinline)) int send_buffer(struct buffer *b, unsigned i)
{
	if (use(b) % 10000 == 9999 || i == 777) {
		buffer_put(b);
		return -1;
	}
	return 0;
}

int main(void)
{
	int errors = 0;

	for (unsigned i = 0; i < 2000; i++) {
		struct buffer *b = buffer_new(i);

		if (send_buffer(b, i))
			errors++;
		buffer_put(b);
	}
	printf("%d errors, %d buffers\n", errors, live_buffers);
	abort();
}
