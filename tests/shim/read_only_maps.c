/* SPDX-License-Identifier: MIT */
/*
 * read_only_maps.c: a process that only reads what another one writes: its descriptors and mappings do not let it
 * write. Memory without a name (memfd_create), with one (shm_open), and a file that both have mapped.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define ROUNDS 20
#define SIZE (64 * PAGE) /* more than what is followed at once, whoever maps it */

static int asks[2], answers[2];

/* The child: writes to the memory each time it is asked. */
static void write_there(int fd)
{
	volatile unsigned *m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char c;

	close(asks[1]);
	NEED(m != MAP_FAILED && write(answers[1], "m", 1) == 1);
	for (unsigned i = 1; read(asks[0], &c, 1) == 1; i++) {
		m[0] = i * i;
		m[(SIZE - PAGE) / sizeof(*m)] += i;
		CHECK(write(answers[1], "w", 1) == 1);
	}
	_exit(check_status());
}

static void read_here(int fd, int maps_first)
{
	const volatile unsigned *m = maps_first ? mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	unsigned sum = 0;
	int status;
	char c;

	close(asks[0]);
	NEED(read(answers[0], &c, 1) == 1);
	if (!maps_first)
		m = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	NEED(m != MAP_FAILED);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		CHECK(write(asks[1], "?", 1) == 1 && read(answers[0], &c, 1) == 1);
		/* each value leads to other calls */
		for (unsigned n = m[0] % 7; n > 0; n--)
			getppid();
		sum = sum * 31 + m[0] + m[(SIZE - PAGE) / sizeof(*m)];
		CHECK(m[0] == i * i);
	}
	printf("%x\n", sum);
	close(asks[1]);
	CHECK(wait(&status) > 0 && status == 0);
	CHECK(munmap((void *)m, SIZE) == 0);
	close(answers[0]);
	close(answers[1]);
}

static void test(int writable, int readable, int maps_first, const char *name)
{
	NEED(writable >= 0 && readable >= 0 && ftruncate(writable, SIZE) == 0);
	NEED(pipe(asks) == 0 && pipe(answers) == 0);
	if (fork() == 0)
		write_there(writable);
	close(writable);
	read_here(readable, maps_first);
	close(readable);
	step(name);
}

int main(void)
{
	char path[64];
	int fd = memfd_create("memory", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	test(fd, open(path, O_RDONLY | O_CLOEXEC), 1, "without a name");
	snprintf(path, sizeof(path), "/read_only_maps.%d", (int)getpid());
	fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	test(fd, shm_open(path, O_RDONLY, 0), 1, "with a name");
	CHECK(shm_unlink(path) == 0);
	fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	test(fd, open("file", O_RDONLY | O_CLOEXEC), 0, "a file");
	CHECK(unlink("file") == 0);
	return check_status();
}
