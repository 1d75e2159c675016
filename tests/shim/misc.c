/* SPDX-License-Identifier: MIT */
/* misc.c: sorting, jumps, exit handlers, a stack of contexts, direct system calls, constructors. */
#include "check.h"

#include <fcntl.h>
#include <search.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

static int constructed;

static __attribute__((constructor)) void construct(void)
{
	constructed = 1;
	free(malloc(10));
}

static __attribute__((destructor)) void destruct(void)
{
	printf("destructor\n");
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

/* tdestroy: the keys are not its own. */
static void keep(void *key)
{
	(void)key;
}

static void test_sort(void)
{
	static int v[50000];
	unsigned seed = 3;
	int key, *found;
	void *tree = NULL;

	for (int i = 0; i < 50000; i++)
		v[i] = (int)((seed = seed * 1664525 + 1013904223) >> 4);
	key = v[777];
	qsort(v, 50000, sizeof(v[0]), compare);
	for (int i = 1; i < 50000; i++)
		CHECK(v[i - 1] <= v[i]);
	found = bsearch(&key, v, 50000, sizeof(v[0]), compare);
	CHECK(found && *found == key);
	for (int i = 0; i < 100; i++)
		CHECK(tsearch(&v[i], &tree, compare));
	CHECK(tfind(&v[50], &tree, compare) && !tfind(&(int){-5}, &tree, compare));
	tdestroy(tree, keep);
	step("sort and search");
}

static jmp_buf env;
static volatile int leave = 1;

static __attribute__((noinline)) void deeper(int n)
{
	volatile char room[1000];

	room[0] = (char)n;
	if (n > 0)
		deeper(n - 1);
	else if (leave)
		longjmp(env, 42);
	room[999] = room[0];
}

static void test_jump(void)
{
	volatile int rounds = 0;
	int code = setjmp(env);

	if (code)
		CHECK(code == 42);
	if (++rounds < 5)
		deeper(rounds * 20);
	CHECK(rounds == 5);
	step("jump");
}

static ucontext_t main_context, other_context;
static int switches;

static void coroutine(void)
{
	for (int i = 0; i < 10; i++) {
		switches++;
		swapcontext(&other_context, &main_context);
	}
}

static void test_contexts(void)
{
	char *stack = malloc(65536);

	NEED(stack && getcontext(&other_context) == 0);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = 65536;
	other_context.uc_link = &main_context;
	makecontext(&other_context, coroutine, 0);
	for (int i = 0; i < 10; i++)
		CHECK(swapcontext(&main_context, &other_context) == 0 && switches == i + 1);
	free(stack);
	step("contexts");
}

/* System calls that no library wrapper sees. */
static long raw_call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

static void test_raw(void)
{
	char text[6] = "";
	int ends[2];

	CHECK(raw_call(SYS_getpid, 0, 0, 0) == getpid());
	CHECK(raw_call(SYS_pipe2, (long)ends, O_CLOEXEC, 0) == 0);
	CHECK(raw_call(SYS_write, ends[1], (long)"bytes", 5) == 5);
	CHECK(raw_call(SYS_read, ends[0], (long)text, 5) == 5 && !strcmp(text, "bytes"));
	CHECK(raw_call(SYS_close, ends[0], 0, 0) == 0 && raw_call(SYS_close, ends[1], 0, 0) == 0);
	CHECK(raw_call(SYS_close, ends[0], 0, 0) == -EBADF);
	CHECK(syscall(SYS_getuid) == getuid() && syscall(SYS_close, -1) == -1 && errno == EBADF);
	step("direct system calls");
}

static void at_exit_one(void)
{
	printf("exit handler one\n");
}

static void at_exit_two(int status, void *arg)
{
	printf("exit handler two: %d %s\n", status, (char *)arg);
}

int main(void)
{
	CHECK(constructed);
	CHECK(atexit(at_exit_one) == 0 && on_exit(at_exit_two, "argument") == 0);
	test_sort();
	test_jump();
	test_contexts();
	test_raw();
	exit(check_status() ? 1 : 23);
}
