/* SPDX-License-Identifier: MIT */
/*
 * read_into.c: no instruction of the program stores the bad value: a read puts it there.
 *
 * EXPECT-EXPR: inbox.version == 0 || inbox.version == 3
 * EXPECT-LINE: BUG: whatever comes
 * EXPECT-FUNC: receive
 * EXPECT-EXIT: 1
 */
#include <stdio.h>
#include <unistd.h>

struct packet {
	unsigned version, seq;
};

static struct packet inbox;

static __attribute__((noinline)) int receive(int fd)
{
	long n = read(fd, &inbox, sizeof(inbox)); /* BUG: whatever comes */

	return n == sizeof(inbox);
}

int main(void)
{
	unsigned long sum = 0;
	int fds[2];

	if (pipe(fds))
		return 9;
	for (unsigned i = 0; i < 1000; i++) {
		struct packet p = {i < 641 ? 3 : 4, i};

		if (write(fds[1], &p, sizeof(p)) != sizeof(p) || !receive(fds[0]))
			return 9;
		sum += inbox.seq;
	}
	printf("sum %lu, version %u\n", sum, inbox.version);
	return inbox.version != 3;
}
