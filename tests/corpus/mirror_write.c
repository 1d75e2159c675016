/* SPDX-License-Identifier: MIT */
/*
 * mirror_write.c: a ring buffer continues in a second mapping of itself. A message that goes over its end through the mirror
 * overwrites the head at the beginning, which is read through the first mapping: at an address that nobody writes.
 *
 * EXPECT-EXPR: ring->magic == 77
 * EXPECT-LINE: BUG: no room was left
 * EXPECT-FUNC: put
 * EXPECT-EXIT: 1
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096u

struct ring {
	unsigned magic, head;
	unsigned char data[SIZE - 8];
};

static struct ring *ring;

static void put(unsigned char *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		at[i] = (unsigned char)n; /* BUG: no room was left for the head */
}

int main(void)
{
	int fd = memfd_create("ring", 0);
	char *p = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec ts;

	if (fd < 0 || ftruncate(fd, SIZE))
		return 2;
	for (unsigned i = 0; i < 2; i++)
		if (mmap(p + i * SIZE, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != p + i * SIZE)
			return 2;
	ring = (struct ring *)p;
	ring->magic = 77;
	for (unsigned i = 0; i < 1000 && ring->magic == 77; i++) {
		unsigned n = 1 + i % 13;

		put(ring->data + ring->head, n);
		ring->head = ring->head + n > sizeof(ring->data) ? 0 : ring->head + n;
		clock_gettime(CLOCK_MONOTONIC, &ts);
	}
	printf("magic %u\n", ring->magic);
	return ring->magic != 77;
}
