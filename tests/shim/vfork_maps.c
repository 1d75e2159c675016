/* SPDX-License-Identifier: MIT */
/* vfork_maps.c: a vfork child changes the memory that it has in common with its parent: maps, unmaps, protects, moves the break. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SIZE 65536

static char *volatile given, *volatile old, *volatile fixed;
static void *volatile brk_before, *volatile brk_after;
static sigjmp_buf out;
static volatile int faults;

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(out, 1);
}

static int can_write(volatile char *p)
{
	if (sigsetjmp(out, 1))
		return 0;
	*p = *p;
	return 1;
}

static char *map(void)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	return p;
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void test_map(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		given = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		strcpy(given + 5000, "from the child");
		_exit(5);
	}
	wait_for(pid);
	CHECK(!strcmp(given + 5000, "from the child") && !given[0] && can_write(given + SIZE - 1));
	strcpy(given, "parent");
	CHECK(munmap(given, SIZE) == 0);
	step("map");
}

static void test_others(void)
{
	pid_t pid;

	old = map();
	fixed = map();
	memset(fixed, 'f', SIZE);
	brk_before = sbrk(0);
	pid = vfork();
	if (pid == 0) {
		munmap(old, SIZE / 2);
		mprotect(old + SIZE / 2, SIZE / 4, PROT_READ);
		mmap(fixed, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		fixed[1] = 'c';
		brk_after = sbrk(SIZE);
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
	CHECK(!can_write(old) && !can_write(old + SIZE / 2) && can_write(old + SIZE - 1) && faults == 2);
	CHECK(!fixed[0] && fixed[1] == 'c' && fixed[4096] == 'f');
	CHECK(brk_after == brk_before && can_write((char *)brk_before + SIZE - 1));
	step("others");
}

/* Another mapping comes where it did natively: nothing of the child's is in the way, or missing. */
static void test_after(void)
{
	char *a = map(), *b;

	memset(a, 'a', SIZE);
	b = map();
	CHECK(a != b && !b[SIZE - 1]);
	munmap(a, SIZE);
	munmap(b, SIZE);
	step("after");
}

int main(void)
{
	signal(SIGSEGV, on_fault);
	test_map();
	test_others();
	test_after();
	return check_status();
}
