/* SPDX-License-Identifier: MIT */
/* no_stack.c: system calls while the stack pointer leads nowhere: natively a call needs none, so it works, and is recorded. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long call_on(uint64_t sp, long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[sp], %%rsp\n\t"
			 "syscall\n\t"
			 "mov %%rbx, %%rsp"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), [sp] "r"(sp)
			 : "rbx", "rcx", "r11", "memory");
	return ret;
}

static uint64_t nowhere[6];

static void *calls(void *arg)
{
	char text[] = "line 0\n", buf[8];
	int p[2];

	NEED(pipe(p) == 0);
	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		text[5] = (char)('0' + i);
		CHECK(call_on(nowhere[i], SYS_getpid, 0, 0, 0) == getpid());
		CHECK(call_on(nowhere[i], SYS_write, 1, (long)text, 7) == 7);
		CHECK(call_on(nowhere[i], SYS_write, p[1], (long)text, 7) == 7);
		CHECK(call_on(nowhere[i], SYS_read, p[0], (long)buf, 7) == 7 && buf[5] == text[5]);
		CHECK(call_on(nowhere[i], SYS_write, 1, 16, 7) == -EFAULT);
	}
	close(p[0]);
	close(p[1]);
	return arg;
}

static void handler(int sig)
{
	(void)sig;
	calls(NULL);
}

static void ends(int i)
{
	call_on(nowhere[i], SYS_exit_group, 7, 0, 0);
}

static void dies(int i)
{
	call_on(nowhere[i], SYS_kill, getpid(), SIGKILL, 0);
}

static int status_of(void (*fn)(int), int i)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		fn(i);
		_exit(99);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t ss = {.ss_size = 65536};
	pthread_t t;

	nowhere[0] = 0;
	nowhere[1] = 1;
	nowhere[2] = (uint64_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 64;
	nowhere[3] = (uint64_t)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	nowhere[4] = 0x8000000000000000;
	nowhere[5] = (uint64_t)-1;
	calls(NULL);
	step("the first thread");
	NEED(pthread_create(&t, NULL, calls, NULL) == 0 && pthread_join(t, NULL) == 0);
	step("another thread");
	ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(sigaltstack(&ss, NULL) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	raise(SIGUSR1);
	step("a handler");
	CHECK(status_of(ends, 0) == 7 << 8);
	CHECK(status_of(ends, 2) == 7 << 8);
	CHECK(status_of(dies, 0) == SIGKILL);
	CHECK(status_of(dies, 5) == SIGKILL);
	step("ends");
	return check_status();
}
