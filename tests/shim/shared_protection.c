/* SPDX-License-Identifier: MIT */
/*
 * shared_protection.c: shared memory of which parts may not be read, or are past the end of a file: the program gets a
 * SIGSEGV there, and calls that are given such parts fail with EFAULT.
 */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define STRIPES 100u

static sigjmp_buf back;

static void on_segv(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static int faults(const volatile char *p)
{
	if (sigsetjmp(back, 1))
		return 1;
	return *p < 0;
}

#define HOLES 32u

/* Pages between others that are not mapped: they stay so, whatever is followed of the memory that is shared. */
static void test_holes(void)
{
	char *m = mmap(NULL, 2 * HOLES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared[HOLES];
	int status = -1, bad = 0;
	pid_t child;

	NEED(m != MAP_FAILED);
	for (unsigned i = 0; i < HOLES; i++)
		shared[i] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < HOLES; i++)
		CHECK(shared[i] != MAP_FAILED && munmap(m + (2 * i + 1) * PAGE, PAGE) == 0);
	child = fork();
	NEED(child >= 0);
	shared[0][child != 0] = 1;
	for (unsigned i = 0; i < HOLES; i++)
		bad += !faults(m + (2 * i + 1) * PAGE);
	CHECK(bad == 0);
	if (!child)
		_exit(check_status());
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(munmap(m, 2 * HOLES * PAGE) == 0);
	for (unsigned i = 0; i < HOLES; i++)
		CHECK(munmap(shared[i], 2 * PAGE) == 0);
	step("pages that are not mapped");
}

/* Every other page may be read when the memory becomes shared with another process. */
static void test_stripes(void)
{
	char *m = mmap(NULL, STRIPES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1, bad = 0;
	pid_t child;

	NEED(m != MAP_FAILED);
	for (unsigned i = 0; i < STRIPES; i++) {
		m[i * PAGE] = (char)(i % 100);
		CHECK(mprotect(m + i * PAGE, PAGE, i % 2 ? PROT_NONE : PROT_READ) == 0);
	}
	child = fork();
	NEED(child >= 0);
	for (unsigned i = 0; i < STRIPES; i++)
		bad += faults(m + i * PAGE) != (int)(i % 2);
	CHECK(bad == 0);
	if (!child)
		_exit(check_status());
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(mprotect(m, STRIPES * PAGE, PROT_READ) == 0 && m[7 * PAGE] == 7);
	CHECK(munmap(m, STRIPES * PAGE) == 0);
	step("pages by turns readable and not");
}

#define FAULTS(call) CHECK((call) == -1 && errno == EFAULT)

/* Three pages that are shared, of which the second may not be touched; and a page after them that is private. */
static void test_calls(void)
{
	char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), got[32];
	struct iovec *v = (struct iovec *)(m + PAGE) - 1;
	int ends[2];

	NEED(m != MAP_FAILED && pipe(ends) == 0);
	NEED(mmap(m, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == m);
	memset(m, 'a', 4 * PAGE);
	memcpy(m + 3 * PAGE - 8, "0123456789abcdef", 16);
	CHECK(mprotect(m + PAGE, PAGE, PROT_NONE) == 0);
	FAULTS(access(m + PAGE - 4, F_OK));
	FAULTS(access(m + PAGE, F_OK));
	FAULTS(rename("nothing", m + PAGE - 1));
	FAULTS(write(ends[1], m + PAGE, 8));
	FAULTS(writev(ends[1], (struct iovec *)(m + PAGE), 1));
	FAULTS(writev(ends[1], v, 2));
	v->iov_base = m + 2 * PAGE - 8;
	v->iov_len = 8;
	FAULTS(writev(ends[1], v, 1));
	v->iov_base = m + 3 * PAGE - 8;
	v->iov_len = 16;
	CHECK(writev(ends[1], v, 1) == 16 && read(ends[0], got, 32) == 16 && !memcmp(got, "0123456789abcdef", 16));
	CHECK(write(ends[1], m + 3 * PAGE - 8, 16) == 16 && read(ends[0], got, 32) == 16);
	CHECK(!memcmp(got, "0123456789abcdef", 16));
	CHECK(write(ends[1], "fedcba9876543210", 16) == 16 && read(ends[0], m + 3 * PAGE - 8, 16) == 16);
	CHECK(!memcmp(m + 3 * PAGE - 8, "fedcba9876543210", 16));
	CHECK(write(ends[1], "12345678", 8) == 8);
	FAULTS(read(ends[0], m + PAGE, 8));
	CHECK(munmap(m, 4 * PAGE) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
	step("calls on pages that may not be touched");
}

static void test_past_end(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0600), ends[2];
	char *m;

	NEED(fd >= 0 && pipe(ends) == 0 && ftruncate(fd, PAGE) == 0);
	m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(m != MAP_FAILED);
	memset(m, 'a', PAGE);
	FAULTS(write(ends[1], m + PAGE, 8));
	FAULTS(access(m + PAGE - 4, F_OK));
	FAULTS(writev(ends[1], (struct iovec *)(m + PAGE), 1));
	CHECK(write(ends[1], "12345678", 8) == 8);
	FAULTS(read(ends[0], m + PAGE + 8, 8));
	CHECK(munmap(m, 2 * PAGE) == 0 && close(fd) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
	step("calls on pages past the end of a file");
}

static volatile sig_atomic_t asked;

static void on_usr1(int sig)
{
	asked += sig == SIGUSR1;
}

/* The handlers' stack is shared memory that the child has not touched before. */
static void test_signal_stack(void)
{
	char *m = mmap(NULL, 17 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sigaction segv = {.sa_handler = on_segv, .sa_flags = SA_ONSTACK};
	struct sigaction usr1 = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
	stack_t ss = {.ss_sp = m, .ss_size = 16 * PAGE};
	int status = -1;
	pid_t child;

	NEED(m != MAP_FAILED && mprotect(m + 16 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(sigaction(SIGSEGV, &segv, NULL) == 0 && sigaction(SIGUSR1, &usr1, NULL) == 0);
	CHECK(sigaltstack(&ss, NULL) == 0);
	for (int first = 0; first < 2; first++) {
		child = fork();
		NEED(child >= 0);
		if (!child) {
			CHECK(first || faults(m + 16 * PAGE));
			CHECK(raise(SIGUSR1) == 0 && asked == 1);
			_exit(check_status());
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, NULL) == 0 && munmap(m, 17 * PAGE) == 0);
	step("a signal stack in shared memory");
}

int main(void)
{
	NEED(signal(SIGSEGV, on_segv) != SIG_ERR);
	test_holes();
	test_stripes();
	test_calls();
	test_past_end();
	test_signal_stack();
	return check_status();
}
