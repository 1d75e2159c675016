/* SPDX-License-Identifier: MIT */
/* segments.c: segments of the program's own (modify_ldt): memory that is read and written through them, in threads and a child. */
#include "check.h"

#include <asm/ldt.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define AT 0x10000000l

static int set(unsigned entry, unsigned base)
{
	struct user_desc d = {.entry_number = entry, .base_addr = base, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1,
			      .useable = 1};

	return (int)syscall(SYS_modify_ldt, 0x11, &d, sizeof(d));
}

static void use(unsigned entry)
{
	__asm__ volatile("mov %0, %%gs" ::"r"((unsigned short)(entry << 3 | 7)));
}

static int get(int offset)
{
	int v;

	__asm__ volatile("movl %%gs:(%1), %0" : "=r"(v) : "r"((long)offset) : "memory");
	return v;
}

static void put(int offset, int v)
{
	__asm__ volatile("movl %0, %%gs:(%1)" ::"r"(v), "r"((long)offset) : "memory");
}

static void *thread(void *arg)
{
	use(2);
	CHECK(get(0) == 200);
	for (int i = 0; i < 100; i++) {
		put(4, get(4) + 3);
		getppid();
	}
	return arg;
}

int main(void)
{
	int *p = mmap((void *)AT, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), status;
	unsigned char table[64];
	pthread_t t;
	pid_t pid;

	NEED(p == (int *)AT);
	NEED(set(1, AT) == 0 && set(2, AT + 4096) == 0);
	CHECK(syscall(SYS_modify_ldt, 0x11, table, 3) != 0);
	CHECK(syscall(SYS_modify_ldt, 0, table, sizeof(table)) > 0);
	p[0] = 100;
	p[1024] = 200;
	use(1);
	CHECK(get(0) == 100);
	put(8, 5);
	CHECK(p[2] == 5);
	getppid();
	CHECK(get(8) == 5);
	step("a segment");
	NEED(pthread_create(&t, NULL, thread, NULL) == 0);
	pthread_join(t, NULL);
	CHECK(p[1025] == 300 && get(0) == 100);
	step("a thread");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		CHECK(get(0) == 100);
		put(0, 7);
		_exit(p[0] == 7 ? check_status() : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && p[0] == 100);
	step("a child");
	return check_status();
}
