/* SPDX-License-Identifier: MIT */
/* A value that comes from a file, by memcpy, an argument, a call and a structure. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pair {
	int left, right;
};

int table[4] = {1, 2, 3, 4};
int total;
struct pair pair;

__attribute__((noinline)) static int twice(int x)
{
	return x + x; /* TWICE */
}

__attribute__((noinline)) static int add(int b, int c)
{
	int a = b + c; /* ADD */

	return a;
}

static pthread_once_t control = PTHREAD_ONCE_INIT;
static void once(void)
{
	total = add(total, 0);
}

int main(void)
{
	char raw[16], copy[16];
	int fd = open("input", O_RDONLY), unrelated = 0;

	if (fd < 0 || lseek(fd, 2, SEEK_SET) != 2 || read(fd, raw, sizeof(raw)) != 16) /* READ */
		return 1;
	memcpy(copy, raw, sizeof(copy)); /* COPY */
	for (int i = 0; i < 4; i++)
		total += twice(table[i]); /* TOTAL */
	for (int i = 0; i < 100; i++)
		unrelated += i; /* UNRELATED */
	pair.right = 5; /* FIVE */
	pair.left = add(total, copy[3]); /* LEFT */
	pthread_once(&control, once);
	printf("%d %d\n", pair.left, unrelated); /* PRINT */
	return 0;
}
