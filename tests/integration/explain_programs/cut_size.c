/* SPDX-License-Identifier: MIT */
/* The size of a block is cut to 16 bits, the length of what is copied into it is not. KIND: heap */ /* SAYS: 20 is the lower 16 bits */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[65600];

static char *frame(const char *body, uint32_t len)
{
	uint16_t size = len + 16;
	char *out = malloc(size); /* BUG */

	memset(out, ' ', 16);
	memcpy(out + 16, body, len);
	return out;
}

int main(void)
{
	char *frames[3];

	memset(text, 'b', sizeof(text));
	frames[0] = frame("hello", 5);
	frames[1] = frame(text, 65540);
	frames[2] = frame(text, 200);
	printf("%c %c %c\n", frames[0][16], frames[1][16], frames[2][16]);
	return 0;
}
