/* SPDX-License-Identifier: MIT */
/* mmap_calls.c: anonymous, private and shared mappings, protection, moving, the break. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PAGE 4096ul

static void test_anonymous(void)
{
	unsigned char vec[16];
	char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	NEED(p != MAP_FAILED);
	for (unsigned i = 0; i < 16; i++)
		CHECK(p[i * PAGE] == 0 && (p[i * PAGE] = (char)i) == (char)i);
	CHECK(mprotect(p, PAGE, PROT_READ) == 0 && mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(mprotect(p + 1, PAGE, PROT_READ) == -1 && errno == EINVAL);
	CHECK(madvise(p + 8 * PAGE, PAGE, MADV_DONTNEED) == 0 && p[8 * PAGE] == 0 && p[9 * PAGE] == 9);
	CHECK(mincore(p, 16 * PAGE, vec) == 0);
	q = mremap(p, 16 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	CHECK(q[15 * PAGE] == 15 && q[63 * PAGE] == 0);
	CHECK(mremap(q, 64 * PAGE, 8 * PAGE, 0) == q);
	CHECK(mlock(q, PAGE) == 0 && munlock(q, PAGE) == 0);
	CHECK(munmap(q + 4 * PAGE, 4 * PAGE) == 0 && q[3 * PAGE] == 3);
	p = mmap(q + 4 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(p == q + 4 * PAGE && p[7] == 0);
	CHECK(munmap(q, 5 * PAGE) == 0);
	step("anonymous");
}

static int make_file(const char *name, unsigned pages)
{
	char block[PAGE];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	NEED(fd >= 0);
	for (unsigned i = 0; i < pages; i++) {
		memset(block, 'a' + (int)i, sizeof(block));
		CHECK(write(fd, block, sizeof(block)) == sizeof(block));
	}
	return fd;
}

static void test_private(void)
{
	int fd = make_file("mapped", 8);
	char byte;
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), *part;

	NEED(p != MAP_FAILED);
	for (int i = 0; i < 8; i++)
		CHECK(p[i * PAGE + 5] == 'a' + i);
	p[2 * PAGE] = 'Z';
	CHECK(pread(fd, &byte, 1, 2 * PAGE) == 1 && byte == 'c');
	part = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 3 * PAGE);
	CHECK(part != MAP_FAILED && part[0] == 'd');
	close(fd);
	CHECK(p[7 * PAGE] == 'h' && munmap(p, 8 * PAGE) == 0 && munmap(part, PAGE) == 0);
	step("private file");
}

static void test_shared(void)
{
	int fd = make_file("mapped", 4);
	char text[6] = "";
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	NEED(p != MAP_FAILED);
	memcpy(p + PAGE, "hello", 5);
	CHECK(msync(p, 4 * PAGE, MS_SYNC) == 0);
	CHECK(pread(fd, text, 5, PAGE) == 5 && !strcmp(text, "hello"));
	CHECK(munmap(p, 4 * PAGE) == 0 && close(fd) == 0 && unlink("mapped") == 0);
	step("shared file");
}

static void *fill(void *arg)
{
	for (unsigned i = 0; i < 50; i++) {
		size_t size = (1 + i % 7) * PAGE;
		unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		NEED(p != MAP_FAILED);
		memset(p, (int)i, size);
		CHECK(p[size - 1] == i);
		CHECK(munmap(p, size) == 0);
	}
	return arg;
}

static void test_threads(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		NEED(pthread_create(&t[i], NULL, fill, NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	step("threads");
}

static void test_other(void)
{
	char *base = sbrk(0), *p;
	int fd = memfd_create("mem", MFD_CLOEXEC);

	CHECK(sbrk(3 * (int)PAGE) == base);
	memset(base, 9, 3 * PAGE);
	CHECK(brk(base) == 0 && sbrk(0) == base);
	NEED(fd >= 0);
	CHECK(ftruncate(fd, 2 * PAGE) == 0);
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && p[PAGE] == 0);
	munmap(p, 2 * PAGE);
	close(fd);
	fd = open("/dev/zero", O_RDWR);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && p[9] == 0 && munmap(p, PAGE) == 0 && close(fd) == 0);
	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	step("break, memfd, /dev/zero");
}

/* Record locks end when the process closes any descriptor of the file: a mapping must not. */
static void test_locks(void)
{
	int fd = make_file("locked", 2);
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5}, got = l;
	pid_t child;
	int status = -1;
	char *p;

	CHECK(fcntl(fd, F_SETLK, &l) == 0);
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	child = fork();
	if (child == 0)
		_exit(fcntl(fd, F_GETLK, &got) == 0 && got.l_type == F_WRLCK ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(munmap(p, 2 * PAGE) == 0);
	close(fd);
	step("record locks over a mapping");
}

/* Two that were one for the kernel move together; a replay's copies of the file must, too. */
static void test_united(void)
{
	int fd = make_file("united", 6);
	char *p = mmap(NULL, 6 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0), *q;

	NEED(p != MAP_FAILED);
	NEED(mmap(p, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == p);
	q = mremap(p, 6 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	for (int i = 0; i < 6; i++)
		CHECK(q[i * PAGE] == 'a' + i);
	NEED(mmap(q + 3 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 3 * PAGE) == q + 3 * PAGE);
	CHECK(mremap(q + PAGE, 5 * PAGE, 4 * PAGE, 0) == q + PAGE);
	CHECK(q[0] == 'a' && q[PAGE] == 'b' && q[3 * PAGE] == 'd' && q[4 * PAGE] == 'e');
	CHECK(munmap(q, 16 * PAGE) == 0 && close(fd) == 0 && unlink("united") == 0);
	step("neighbours that move together");
}

int main(void)
{
	test_anonymous();
	test_united();
	test_private();
	test_shared();
	test_locks();
	test_threads();
	test_other();
	return check_status();
}
