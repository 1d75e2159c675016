/* SPDX-License-Identifier: MIT */
/*
 * tid_addresses.c: words of the program that the kernel sets to 0 at a thread's end, which need not exist.
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile int word = 1;
static const volatile int constant = 1;

static void *gives(void *arg)
{
	CHECK(syscall(SYS_set_tid_address, arg) == gettid());
	return NULL;
}

static void thread_that_gives(void *address)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	NEED(pthread_create(&t, &attr, gives, address) == 0);
}

static void *page(int prot)
{
	void *p = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	return p;
}

static void *ends_the_process(void *arg)
{
	for (int i = 0; i < 20; i++)
		thread_that_gives((void *)&word);
	exit(arg ? 1 : 6);
}

static void first_thread_gives(const volatile void *address)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (pid == 0) {
		syscall(SYS_set_tid_address, address);
		if (pthread_create(&t, NULL, ends_the_process, NULL))
			_exit(2);
		pthread_exit(NULL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 6);
}

int main(void)
{
	void *gone = page(PROT_NONE);

	thread_that_gives((void *)&word);
	while (word)
		syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
	step("a word of the program");

	thread_that_gives(page(PROT_READ));
	thread_that_gives(page(PROT_NONE));
	munmap(gone, 4096);
	thread_that_gives(gone);
	for (int i = 0; i < 3; i++)
		thread_that_gives(NULL);
	step("no word");

	first_thread_gives(gone);
	first_thread_gives(&constant);
	step("the first thread");
	return check_status();
}
