/* SPDX-License-Identifier: MIT */
/*
 * aliases.c: memory that a process has mapped more than once. What it writes at one address is there at the others, without an
 * event: in ring buffers that continue in a mirror, in memory files, POSIX and System V memory, files, by mremap of nothing, in
 * a child that maps again what its parent shares with it, and as code that is written elsewhere.
 *
 * Each round reads before and behind writes through other mappings.
 *
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define WORDS 512u

static unsigned total;

/* Two or more views of the same words. */
static void views(const char *name, volatile unsigned *a, volatile unsigned *b)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 20000; i++) {
		unsigned k = i % WORDS, l = i * 7 % WORDS;

		sum = sum * 31 + b[k];
		a[k] = i + sum;
		sum = sum * 31 + b[k];
		sum = sum * 31 + a[l];
		b[l] += 3;
		sum = sum * 31 + a[l];
		CHECK(a[k] == b[k] && a[l] == b[l]);
		if (i % 4000 == 0)
			getppid();
	}
	total = total * 31 + sum;
	printf("%s: %x\n", name, sum);
	fflush(stdout);
}

static void *map(int fd, size_t len, int prot, off_t off)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, off);

	NEED(p != MAP_FAILED);
	return p;
}

static int memory_file(off_t len)
{
	int fd = memfd_create("aliases", 0);

	NEED(fd >= 0 && ftruncate(fd, len) == 0);
	return fd;
}

static void twice(void)
{
	int fd = memory_file(2 * PAGE);
	unsigned *a = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE, 0), *b = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE, 0);

	views("a memory file", a, b);
	munmap(b, 2 * PAGE);
	b = map(fd, PAGE, PROT_READ | PROT_WRITE, PAGE);
	views("its second page", a + PAGE / 4, b);
	munmap(a, PAGE);
	views("without the first", a + PAGE / 4, b);
	munmap(a + PAGE / 4, PAGE);
	a = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE, 0);
	views("and with it again", a + PAGE / 4, b);
	munmap(a, 2 * PAGE);
	munmap(b, PAGE);
	close(fd);
}

static void ring(size_t len)
{
	int fd = memory_file((off_t)len);
	char *r = mmap(NULL, 2 * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 2; i++)
		NEED(mmap(r + i * len, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == r + i * len);
	close(fd);
	views("a ring", (unsigned *)r, (unsigned *)(r + len));
	memset(r + len - 100, 'x', 200);
	CHECK(r[0] == 'x' && r[99] == 'x' && r[100] != 'x');
	/* a call of the kernel writes over the edge */
	NEED((fd = open("/dev/zero", O_RDONLY)) >= 0);
	CHECK(read(fd, r + len - 50, 100) == 100);
	CHECK(r[0] == 0 && r[49] == 0 && r[50] == 'x');
	close(fd);
	munmap(r, 2 * len);
}

static void posix_memory(void)
{
	char name[64];
	unsigned *a, *b;
	int fd;

	snprintf(name, sizeof(name), "/fred-aliases-%d", (int)getpid());
	NEED((fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600)) >= 0 && ftruncate(fd, PAGE) == 0);
	a = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
	b = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
	shm_unlink(name);
	close(fd);
	views("POSIX memory", a, b);
	munmap(a, PAGE);
	munmap(b, PAGE);
}

static void system_v(void)
{
	int id = shmget(IPC_PRIVATE, 16 * PAGE, IPC_CREAT | 0600);
	unsigned *a = shmat(id, NULL, 0), *b = shmat(id, NULL, 0);

	NEED(id >= 0 && a != (void *)-1 && b != (void *)-1);
	views("System V memory", a, b);
	CHECK(shmdt(a) == 0);
	a = shmat(id, NULL, 0);
	views("attached again", b, a);
	CHECK(shmdt(a) == 0 && shmdt(b) == 0);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
}

/* Large: the recorder does not follow it page by page. One mapping is for reading, by a descriptor for reading. */
static void a_file(void)
{
	const size_t len = 400000;
	int fd = open("aliases.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600), ro = open("aliases.tmp", O_RDONLY);
	unsigned *a, *c, sum = 0;
	const volatile unsigned *b;

	NEED(fd >= 0 && ro >= 0 && ftruncate(fd, (off_t)len) == 0);
	a = map(fd, len, PROT_READ | PROT_WRITE, 0);
	b = map(ro, len, PROT_READ, 0);
	for (unsigned i = 0; i < len / 4; i++) {
		sum = sum * 31 + b[i];
		a[i] = i + 7;
		sum = sum * 31 + b[i];
	}
	printf("a file: %x\n", sum);
	c = mremap(a, 0, len, MREMAP_MAYMOVE);
	NEED(c != MAP_FAILED);
	views("a file, three times", a, c);
	CHECK(b[5] == a[5]);
	munmap(a, len);
	CHECK(b[5] == c[5]);
	c[5]++;
	CHECK(b[5] == c[5]);
	munmap(c, len);
	munmap((void *)b, len);
	close(fd);
	close(ro);
	unlink("aliases.tmp");
}

static void anonymous(void)
{
	unsigned *a = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *b;

	NEED(a != MAP_FAILED);
	a[3] = 42;
	b = mremap(a + PAGE / 4, 0, PAGE, MREMAP_MAYMOVE);
	NEED(b != MAP_FAILED);
	views("a part of anonymous memory", a + PAGE / 4, b);
	b = mremap(b, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b + 64 * PAGE);
	NEED(b != MAP_FAILED);
	views("moved", a + PAGE / 4, b);
	CHECK(a[3] == 42);
}

/* Code is written at one address, and run at another one. */
static void code(void)
{
	static const unsigned char ret[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, N; ret */
	int fd = memory_file(PAGE), sum = 0;
	unsigned char *w = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
	int (*f)(void) = (int (*)(void))map(fd, PAGE, PROT_READ | PROT_EXEC, 0);

	memcpy(w, ret, sizeof(ret));
	for (int i = 0; i < 100; i++) {
		w[1] = (unsigned char)i;
		sum += f();
	}
	CHECK(sum == 4950);
}

struct hand {
	pthread_mutex_t lock;
	unsigned turns, data[WORDS];
};

/* Parent and child share it, and the child has it twice, or each has. */
static void processes(int parent_too)
{
	int fd = memory_file(PAGE), status;
	struct hand *h = map(fd, PAGE, PROT_READ | PROT_WRITE, 0), *other = h;
	pthread_mutexattr_t at;
	unsigned sum = 0;
	pid_t pid;

	pthread_mutexattr_init(&at);
	pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&h->lock, &at);
	if (parent_too)
		other = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
	pid = fork();
	if (!pid && !parent_too)
		other = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
	for (unsigned n = 0; n < 200;) {
		pthread_mutex_lock(&h->lock);
		if (h->turns % 2 == (pid == 0)) {
			for (unsigned i = 0; i < 16; i++) {
				unsigned k = (n * 16 + i) % (WORDS - 2);

				sum = sum * 31 + other->data[k];
				h->data[k] = h->data[k] * 5 + i;
				CHECK(other->data[k] == h->data[k]);
				other->data[k + 1]++;
				sum = sum * 31 + h->data[k + 1];
			}
			h->turns++;
			n++;
		}
		pthread_mutex_unlock(&h->lock);
		sched_yield(); /* else each turn is thousands of events */
	}
	CHECK(other->turns == h->turns);
	printf("%s: %x\n", pid ? "parent" : "child", sum);
	fflush(stdout);
	if (!pid)
		_exit(check_status());
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	munmap(h, PAGE);
	close(fd);
}

static void grows(void)
{
	int fd = memory_file(PAGE);
	volatile unsigned *a = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0), *b = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
	unsigned text[4] = {11, 22, 33, 44};

	a[0] = 1;
	CHECK(b[0] == 1);
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	a[2 * PAGE / 4] = 5;
	CHECK(b[2 * PAGE / 4] == 5);
	CHECK(pwrite(fd, text, sizeof(text), 3 * PAGE) == sizeof(text));
	CHECK(a[3 * PAGE / 4 + 1] == 22 && b[3 * PAGE / 4 + 2] == 33);
	b[3 * PAGE / 4 + 3]++;
	CHECK(a[3 * PAGE / 4 + 3] == 45);
	CHECK(pwrite(fd, text, sizeof(text), 0) == sizeof(text));
	CHECK(a[0] == 11 && b[1] == 22);
	close(fd);
}

/* Most of it is never used. */
static void large(void)
{
	const size_t len = 2ul << 30, at[] = {0, PAGE, 1ul << 30, len - PAGE};
	int fd = memory_file((off_t)len);
	volatile unsigned *a = map(fd, len, PROT_READ | PROT_WRITE, 0), *b;

	for (unsigned i = 0; i < 4; i++)
		a[at[i] / sizeof(*a)] = i + 1;
	b = map(fd, len, PROT_READ | PROT_WRITE, 0);
	for (unsigned i = 0; i < 4; i++) {
		CHECK(b[at[i] / sizeof(*a)] == i + 1 && b[at[i] / sizeof(*a) + 1] == 0);
		b[at[i] / sizeof(*a)] = i + 9;
		CHECK(a[at[i] / sizeof(*a)] == i + 9);
	}
	munmap((void *)a, len);
	munmap((void *)b, len);
	close(fd);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	large();
	step("much memory");
	a_file();
	anonymous();
	twice();
	ring(PAGE);
	ring(64 * PAGE);
	step("in one process");
	posix_memory();
	system_v();
	step("shared memory");
	code();
	step("code");
	grows();
	step("a file that grows");
	processes(0);
	processes(1);
	step("processes");
	printf("%x\n", total);
	return check_status();
}
