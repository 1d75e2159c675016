/* SPDX-License-Identifier: MIT */
/*
 * raw_clones.c: threads, and processes that share memory, by clone itself: without thread-local storage, with their ends
 * told by a word that the kernel clears, killed, crashing, and starting programs.
 *
 * NOTES: a refusal
 */
#include "check.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK 65536

static char stack[STACK] __attribute__((aligned(16)));
static volatile pid_t tid_word;
static volatile int told, pipe_end;

static void wait_cleared(pid_t tid)
{
	while (tid_word)
		syscall(SYS_futex, &tid_word, FUTEX_WAIT, tid, NULL, NULL, 0);
}

static int count(void *arg)
{
	for (int i = 0; i < 1000; i++)
		told += (int)(intptr_t)arg;
	syscall(SYS_exit, 0); /* the whole process would end by a return, were this one the C library's thread */
	return 0;
}

static void test_thread(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	for (int i = 1; i <= 5; i++) {
		pid_t tid = clone(count, stack + STACK, flags, (void *)(intptr_t)i, &tid_word, NULL, &tid_word);

		NEED(tid > 0);
		wait_cleared(tid);
	}
	CHECK(told == 15000);
	CHECK(clone(count, stack + STACK, CLONE_THREAD, NULL) == -1 && errno == EINVAL);
	CHECK(clone(count, stack + STACK, CLONE_SIGHAND, NULL) == -1 && errno == EINVAL);
	step("threads without thread-local storage");
}

/* As a language's own runtime may have it: refused, or it runs. */
static void test_own_thread_pointer(void)
{
	static char area[8192] __attribute__((aligned(4096)));
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	pid_t tid;

	told = 0;
	tid = clone(count, stack + STACK, flags, (void *)1, &tid_word, area + 4096, &tid_word);
	if (tid > 0)
		wait_cleared(tid);
	CHECK(tid > 0 ? told == 1000 : errno == ENOSYS);
	for (size_t i = 0; i < sizeof(area); i++)
		CHECK(!area[i]);
	step("a thread pointer that is not libc's");
}

static int child_exits(void *arg)
{
	told = (int)(intptr_t)arg;
	for (int i = 0; i < 100; i++)
		told += syscall(SYS_getppid) > 0;
	syscall(SYS_exit_group, 77);
	return 0;
}

static int child_crashes(void *arg)
{
	told = 5;
	*(volatile int *)arg = 1;
	return 0;
}

static int child_waits(void *arg)
{
	char byte;

	(void)arg;
	told = 6;
	syscall(SYS_read, pipe_end, &byte, 1);
	told = 7;
	return 0;
}

static int child_starts(void *arg)
{
	char *argv[] = {"raw_clones", "started", NULL};

	told = 8;
	syscall(SYS_execve, "/nowhere/at/all", argv, NULL);
	syscall(SYS_execve, "/proc/self/exe", argv, NULL);
	(void)arg;
	return 1;
}

static int ended(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, __WALL) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static pid_t start(int (*fn)(void *), void *arg, int flags)
{
	pid_t pid = clone(fn, stack + STACK, CLONE_VM | SIGCHLD | flags, arg, &tid_word, NULL, &tid_word);

	NEED(pid > 0);
	return pid;
}

static void test_processes(void)
{
	pid_t pid = start(child_exits, (void *)1000, 0);

	CHECK(ended(pid) == 77 && told == 1100);
	pid = start(child_exits, (void *)2000, CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID);
	wait_cleared(pid);
	CHECK(told == 2100 && ended(pid) == 77);
	pid = start(child_crashes, NULL, 0);
	CHECK(ended(pid) == 1000 + SIGSEGV && told == 5);
	pid = start(child_starts, NULL, 0);
	CHECK(ended(pid) == 14 && told == 8);
	step("processes that share memory");
}

static void test_killed(void)
{
	int ends[2];
	pid_t pid;

	NEED(pipe(ends) == 0);
	pipe_end = ends[0];
	for (int i = 0; i < 3; i++) {
		told = 0;
		pid = start(child_waits, NULL, CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID);
		while (told != 6)
			sched_yield();
		CHECK(tid_word == pid && kill(pid, SIGKILL) == 0);
		CHECK(ended(pid) == 1000 + SIGKILL && told == 6 && !tid_word);
	}
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	step("killed ones");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 14;
	test_thread();
	test_own_thread_pointer();
	test_processes();
	test_killed();
	return check_status();
}
