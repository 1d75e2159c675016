/* SPDX-License-Identifier: MIT */
/*
 * copies.c: words that memcpy, memset, strcpy and read change.
 *
 * EXPR: big[700] == 0
 * EXPR: small.b < 40
 * EXPR: text[0] != 'z'
 * EXPR: got[2] != 'n'
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
int big[2048], from[2048];
struct small {
	int a, b, c, d;
} small;
char text[32], got[16];

int main(void)
{
	struct small s = {1, 2, 3, 4};
	int fds[2];

	if (pipe(fds))
		return 1;
	for (int i = 0; i < 6; i++) {
		pass = i;
		from[700] = i % 3;
		memcpy(big, from, sizeof(big));
		if (i == 4)
			memset(big, 0, sizeof(big));
		s.b = 10 * i;
		memcpy(&small, &s, sizeof(s));
		strcpy(text, i % 2 ? "zebra" : "horse");
		if (write(fds[1], i < 4 ? "banana" : "canoes", 6) != 6)
			return 1;
		if (read(fds[0], got, 6) != 6)
			return 1;
	}
	got[2] = 'n';
	puts("end");
	_exit(1);
}
