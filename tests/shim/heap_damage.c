/* SPDX-License-Identifier: MIT */
/*
 * heap_damage.c: programs that damage their heap: what glibc finds is found by the recorder's heap too, at the same call, with the
 * same message and SIGABRT; what it does not find, and what is within the memory that it really gives, is no failure. Each in a child.
 *
 * CFLAGS: -fno-builtin -Wno-use-after-free -Wno-free-nonheap-object -Wno-array-bounds -Wno-unused-result
 */
#include "check.h"

#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

static char *volatile keep;

static void *get(size_t n)
{
	return keep = malloc(n);
}

static void drop(void *p)
{
	char *volatile q = p;

	free(q);
}

static void small_twice(void)
{
	char *a = get(24);

	drop(a);
	drop(a);
}

static void small_twice_later(void)
{
	char *a = get(24), *b = get(24);

	drop(a);
	drop(b);
	drop(a);
}

static void large_twice(void)
{
	char *a = get(3000);

	get(24);
	drop(a);
	drop(a);
}

static void last_twice(void)
{
	char *a = get(100000);

	drop(a);
	drop(a);
}

static void inside(void)
{
	drop((char *)get(100) + 16);
}

static void unaligned(void)
{
	drop((char *)get(100) + 8);
}

static void on_the_stack(void)
{
	long local[8] = {0};

	drop((char *)local + 16 - ((long)local & 15));
}

static void next_of_large(void)
{
	char *a = get(3000);

	get(3000);
	memset(a, 'A', 3100);
	drop(a);
}

static void own_of_large(void)
{
	char *a = get(3000), *b = get(3000);

	memset(a, 'A', 3100);
	drop(b);
}

static void own_of_small_zero(void)
{
	char *a = get(24), *b = get(24);

	memset(a, 0, 32);
	drop(b);
}

static void own_of_small_odd(void)
{
	char *a = get(24), *b = get(24);

	a[24] = 0x29;
	drop(b);
}

static void own_of_small_ones(void)
{
	char *a = get(24), *b = get(24);

	memset(a, 0xff, 32);
	drop(b);
}

static void own_of_small_mapped(void)
{
	char *a = get(24), *b = get(24);

	a[24] = 0x22;
	drop(b);
}

static void own_behind_slack(void)
{
	char *a = get(1000), *b = get(24);

	memset(a, 'A', 1016);
	drop(b);
}

static void top(void)
{
	char *a = get(1000);

	memset(a, 'A', 1016);
	get(2000);
}

static void realloc_inside(void)
{
	keep = realloc((char *)get(100) + 16, 200);
}

static void realloc_next(void)
{
	char *a = get(3000);

	get(3000);
	get(24);
	memset(a, 'A', 3016);
	keep = realloc(a, 5000);
}

static void freed_list(void)
{
	char *a = get(24), *b = get(24);

	drop(b);
	drop(a);
	/* glibc keeps the link XORed with the address >> 12: read back, this one is odd wherever the block stands. */
	*(uintptr_t *)a = 0x4141414141414141 ^ (uintptr_t)a >> 12;
	get(24);
	get(24);
}

/* These are none. */
static void fine_to_the_end(void)
{
	static const size_t sizes[] = {0, 1, 16, 24, 25, 40, 41, 100, 504, 512, 520, 1000, 1032, 3000, 100000, 200000};
	char *p[16], *q;

	for (int i = 0; i < 16; i++) {
		p[i] = get(sizes[i]);
		memset(p[i], 'x', malloc_usable_size(p[i]));
	}
	for (int i = 0; i < 16; i++) {
		q = realloc(p[i], sizes[i] * 2 + 1);
		memset(q, 'y', malloc_usable_size(q));
		drop(q);
	}
	for (size_t n = 0; n < 2000; n += 7) {
		q = memalign(64, n);
		CHECK(((long)q & 63) == 0);
		memset(q, 'z', malloc_usable_size(q));
		drop(q);
	}
}

static void sizes(void)
{
	for (size_t n = 0; n < 100; n++)
		CHECK(malloc_usable_size(get(n)) == (n <= 24 ? 24 : ((n + 23) & ~15ul) - 8));
}

/* The last one of a list leads nowhere: that is not looked at. */
static void last_of_list(void)
{
	char *a = get(24);

	drop(a);
	memset(a, 'A', 8);
	CHECK(get(24) == a);
	CHECK(get(24) != a);
}

static void behind_small(void)
{
	char *a = get(24);

	get(24);
	a[24] = 0; /* and nobody looks at the next one */
	drop(a);
}

static const struct {
	const char *name;
	void (*fn)(void);
} cases[] = {
	{"freed twice", small_twice},
	{"freed twice, later", small_twice_later},
	{"a large one twice", large_twice},
	{"the last one twice", last_twice},
	{"inside", inside},
	{"unaligned", unaligned},
	{"on the stack", on_the_stack},
	{"behind a large one", next_of_large},
	{"in front of a large one", own_of_large},
	{"in front, zeros", own_of_small_zero},
	{"in front, odd", own_of_small_odd},
	{"in front, ones", own_of_small_ones},
	{"in front, mapped", own_of_small_mapped},
	{"in front, not far", own_behind_slack},
	{"behind the last one", top},
	{"realloc inside", realloc_inside},
	{"realloc, behind", realloc_next},
	{"a list of freed ones", freed_list},
	{"to the end", fine_to_the_end},
	{"sizes", sizes},
	{"the end of a list", last_of_list},
	{"behind a small one", behind_small},
};

static void run(unsigned i)
{
	char text[200];
	int fds[2], status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	NEED(pipe(fds) == 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		cases[i].fn();
		_exit(check_status());
	}
	close(fds[1]);
	while (n < sizeof(text) - 1 && (k = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)k;
	text[n] = 0;
	close(fds[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("%s: signal %d, %s", cases[i].name, WTERMSIG(status), n ? text : "\n");
	else
		printf("%s: %d %s\n", cases[i].name, WEXITSTATUS(status), text);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run(i);
	step("all");
	return check_status();
}
