/* SPDX-License-Identifier: MIT */
/*
 * reading.c: reading large files, which a recording keeps instead of what was read: in order, here and there, into many
 * buffers, by two threads and two processes, again, and files that change, shrink, or go away meanwhile.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define SIZE (3u << 20)
#define BLOCK 16384u

static unsigned char byte_at(unsigned seed, unsigned long at)
{
	unsigned long v = (at + seed) * 0x9e3779b97f4a7c15ul;

	return (unsigned char)(v >> 56 ^ v >> 31);
}

static void make(const char *name, unsigned seed, unsigned long size)
{
	static unsigned char all[SIZE];
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	NEED(fd >= 0 && size <= SIZE);
	for (unsigned long i = 0; i < size; i++)
		all[i] = byte_at(seed, i);
	NEED(write(fd, all, size) == (long)size);
	close(fd);
}

/* How many of n bytes at p are not those of the file from at on. */
static unsigned long wrong(const unsigned char *p, unsigned long n, unsigned seed, unsigned long at)
{
	unsigned long bad = 0;

	for (unsigned long i = 0; i < n; i++)
		bad += p[i] != byte_at(seed, at + i);
	return bad;
}

static unsigned long read_all(int fd, unsigned seed, unsigned long block)
{
	static __thread unsigned char p[1u << 20];
	unsigned long at = 0, bad = 0;
	long n;

	while ((n = read(fd, p, block)) > 0) {
		bad += wrong(p, (unsigned long)n, seed, at);
		at += (unsigned long)n;
	}
	printf("%lu bytes by %lu, %lu wrong\n", at, block, bad);
	return bad;
}

static void in_order(void)
{
	static const unsigned long blocks[] = {4096, 5000, BLOCK, 1u << 20};
	int fd;

	make("large", 1, SIZE);
	for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		fd = open("large", O_RDONLY);
		NEED(fd >= 0);
		CHECK(read_all(fd, 1, blocks[i]) == 0);
		close(fd);
	}
	step("in order");
}

static void here_and_there(void)
{
	static unsigned char a[BLOCK], b[300], c[3 * BLOCK];
	struct iovec v[] = {{a, sizeof(a)}, {b, 0}, {b, sizeof(b)}, {c, sizeof(c)}};
	int fd = open("large", O_RDONLY);
	long n;

	NEED(fd >= 0);
	for (unsigned long at = SIZE - BLOCK, i = 0; i < 40; i++, at = (at * 7 + 4321) % (SIZE - BLOCK))
		CHECK(pread(fd, a, BLOCK, (long)at) == BLOCK && wrong(a, BLOCK, 1, at) == 0);
	CHECK(preadv(fd, v, 4, 777) == sizeof(a) + sizeof(b) + sizeof(c));
	CHECK(!wrong(a, sizeof(a), 1, 777) && !wrong(b, sizeof(b), 1, 777 + BLOCK) &&
	      !wrong(c, sizeof(c), 1, 777 + BLOCK + 300));
	CHECK(lseek(fd, SIZE - BLOCK - 5000, SEEK_SET) == SIZE - BLOCK - 5000);
	n = readv(fd, v, 4);
	CHECK(n == BLOCK + 5000 && !wrong(a, sizeof(a), 1, SIZE - BLOCK - 5000) && !wrong(c, 4700, 1, SIZE - 4700));
	CHECK(preadv2(fd, v, 1, 100000, 0) == BLOCK && !wrong(a, BLOCK, 1, 100000));
	CHECK(lseek(fd, 200000, SEEK_SET) == 200000);
	CHECK(preadv2(fd, v, 1, -1, 0) == BLOCK && !wrong(a, BLOCK, 1, 200000));
	CHECK(pread(fd, a, BLOCK, SIZE + 1) == 0 && pread(fd, a, BLOCK, -1) == -1 && errno == EINVAL);
	close(fd);
	step("here and there");
}

/* Written in place, with its time put back: only the bytes tell. */
static void changed(void)
{
	static unsigned char p[BLOCK];
	struct timespec times[2];
	struct stat st;
	int fd = open("large", O_RDONLY), to = open("large", O_WRONLY);

	NEED(fd >= 0 && to >= 0 && fstat(fd, &st) == 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	for (unsigned i = 0; i < 20; i++) {
		unsigned long at = i * 100000ul;

		CHECK(pread(fd, p, BLOCK, (long)at) == BLOCK);
		p[100] ^= 0x55;
		CHECK(pwrite(to, p + 100, 1, (long)at + 100) == 1 && futimens(to, times) == 0);
		CHECK(pread(fd, p, BLOCK, (long)at) == BLOCK && wrong(p, BLOCK, 1, at) == 1);
	}
	close(to);
	CHECK(truncate("large", 100000) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read_all(fd, 1, BLOCK) == 1);
	close(fd);
	step("changed");
}

static void grows(void)
{
	unsigned char p[BLOCK];
	unsigned long at = 0, bad = 0;
	int to, fd;

	make("growing", 2, 100000);
	to = open("growing", O_WRONLY | O_APPEND);
	fd = open("growing", O_RDONLY);
	NEED(fd >= 0 && to >= 0);
	for (unsigned i = 0; i < 30; i++) {
		long n = read(fd, p, sizeof(p));

		CHECK(n > 0);
		bad += wrong(p, (unsigned long)n, 2, at);
		at += (unsigned long)n;
		for (unsigned k = 0; k < sizeof(p); k++)
			p[k] = byte_at(2, 100000 + i * sizeof(p) + k);
		CHECK(write(to, p, sizeof(p)) == sizeof(p));
	}
	printf("%lu bytes of a growing file, %lu wrong\n", at, bad);
	CHECK(bad == 0);
	close(fd);
	close(to);
	step("grows");
}

static void goes_away(void)
{
	int fd, other;

	make("old", 3, SIZE / 2);
	make("new", 4, SIZE / 2);
	fd = open("old", O_RDONLY);
	NEED(fd >= 0);
	CHECK(rename("new", "old") == 0);
	CHECK(read_all(fd, 3, BLOCK) == 0);
	other = open("old", O_RDONLY);
	CHECK(unlink("old") == 0 && read_all(other, 4, BLOCK) == 0);
	/* the same number for other files */
	for (unsigned i = 0; i < 6; i++) {
		make("again", 5 + i, SIZE / 4);
		CHECK(dup2(open("again", O_RDONLY), other) == other && unlink("again") == 0);
		CHECK(read_all(other, 5 + i, BLOCK) == 0);
		close(fd);
		fd = -1;
	}
	step("goes away");
}

static void *reader(void *arg)
{
	static __thread unsigned char p[BLOCK];
	int fd = *(int *)arg;
	unsigned long bad = 0;

	for (unsigned i = 0; i < 200; i++) {
		unsigned long at = i * 7919ul * 100 % (SIZE - BLOCK);

		bad += pread(fd, p, BLOCK, (long)at) != BLOCK || wrong(p, BLOCK, 20, at);
	}
	return (void *)bad;
}

static void together(void)
{
	pthread_t other;
	void *bad;
	int fd, status;
	pid_t pid;

	make("both", 20, SIZE);
	fd = open("both", O_RDONLY);
	NEED(fd >= 0);
	CHECK(read_all(fd, 20, BLOCK) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	NEED(pthread_create(&other, NULL, reader, &fd) == 0);
	CHECK(!reader(&fd));
	CHECK(pthread_join(other, &bad) == 0 && !bad);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		CHECK(read_all(fd, 20, BLOCK) == 0 && !reader(&fd));
		fflush(stdout);
		_exit(check_status());
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(read(fd, &status, 1) == 0); /* the child has read it to its end */
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read_all(fd, 20, BLOCK) == 0);
	close(fd);
	step("together");
}

int main(void)
{
	in_order();
	here_and_there();
	changed();
	grows();
	goes_away();
	together();
	return check_status();
}
