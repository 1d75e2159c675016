/* SPDX-License-Identifier: MIT */
/*
 * growing_files.c: mappings of files that change under them: written by calls, made longer than they were when they were
 * mapped, or shorter, nearly empty ones of huge size, ones with code, and System V segments that are taken away piece by piece.
 */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#define PAGE 4096l

static int fresh(long size)
{
	int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0600);

	NEED(fd >= 0 && unlink("file") == 0 && ftruncate(fd, size) == 0);
	return fd;
}

static void test_grow(int how, const char *name)
{
	int fd = fresh(0);
	char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, how, fd, 0);

	NEED(p != MAP_FAILED);
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	p[0] = 'a';
	p[4 * PAGE - 1] = 'b';
	CHECK(p[PAGE] == 0);
	CHECK(ftruncate(fd, 16 * PAGE) == 0);
	p[16 * PAGE - 1] = 'c';
	CHECK(p[0] == 'a' && p[4 * PAGE - 1] == 'b' && p[16 * PAGE - 1] == 'c' && p[8 * PAGE] == 0);
	CHECK(munmap(p, 16 * PAGE) == 0 && close(fd) == 0);
	step(name);
}

/* More than is followed from the start, in a process that is alone */
static void test_written(void)
{
	int fd = fresh(PAGE), sum = 0;
	char *p = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0), buf[5000];

	NEED(p != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		memset(buf, 'a' + i, sizeof(buf));
		CHECK(pwrite(fd, buf, sizeof(buf), i * 5000) == 5000);
		CHECK(p[i * 5000] == 'a' + i && p[i * 5000 + 4999] == 'a' + i);
		sum = sum * 31 + p[i * 2500];
	}
	printf("sum %d\n", sum);
	CHECK(munmap(p, 1 << 20) == 0 && close(fd) == 0);
	step("what is written to a file shows in its mapping");
}

/* A mapping that is made longer, as databases do it when their file grows: here, and by another process. */
static void test_longer(void)
{
	int fd = fresh(2 * PAGE), ends[2];
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q, byte;
	pid_t child;

	NEED(p != MAP_FAILED && pipe(ends) == 0);
	p[0] = 'a';
	for (int i = 0; i < 6; i++)
		CHECK(pwrite(fd, "0123456789", 10, i * PAGE + 100) == 10);
	q = mremap(p, 2 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	for (int i = 0; i < 6; i++)
		CHECK(!memcmp(q + i * PAGE + 100, "0123456789", 10));
	CHECK(q[0] == 'a' && (q[5 * PAGE] = 'b') == 'b');
	child = fork();
	NEED(child >= 0);
	if (child == 0) {
		q[5 * PAGE + 1] = (char)(q[5 * PAGE] + 1);
		_exit(write(ends[1], "x", 1) != 1);
	}
	CHECK(read(ends[0], &byte, 1) == 1 && q[5 * PAGE + 1] == 'c');
	CHECK(waitpid(child, NULL, 0) == child && close(ends[0]) == 0 && close(ends[1]) == 0);
	p = mremap(q, 6 * PAGE, PAGE, 0);
	CHECK(p == q && p[0] == 'a' && munmap(p, PAGE) == 0 && close(fd) == 0);
	step("a shared mapping that is made longer");
}

static void test_huge(void)
{
	const long size = 1l << 40;
	int fd = memfd_create("huge", MFD_CLOEXEC);
	char *p, *q;

	NEED(fd >= 0 && ftruncate(fd, size) == 0);
	CHECK(pwrite(fd, "x", 1, size / 2) == 1);
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, size / 2);
	NEED(p != MAP_FAILED && q != MAP_FAILED);
	CHECK(p[size / 2] == 'x' && p[size / 2 + 1] == 0 && p[0] == 0 && p[size - 1] == 0 && q[0] == 'x');
	CHECK(munmap(p, (size_t)size) == 0 && munmap(q, PAGE) == 0 && close(fd) == 0);
	step("a terabyte of holes");
}

/* As just-in-time compilers do it where memory may not be writable and executable */
static void test_code(void)
{
	static const unsigned char returns_42[] = {0xb8, 42, 0, 0, 0, 0xc3};
	int fd = fresh(PAGE);
	unsigned char *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	int (*fn)(void);

	NEED(w != MAP_FAILED && x != MAP_FAILED);
	memcpy(w, returns_42, sizeof(returns_42));
	memcpy(&fn, &x, sizeof(fn));
	CHECK(fn() == 42);
	CHECK(getppid() > 0);
	w[1] = 43;
	CHECK(fn() == 43);
	CHECK(munmap(w, PAGE) == 0 && munmap(x, PAGE) == 0 && close(fd) == 0);
	step("code written through another mapping");
}

static sigjmp_buf back;
static volatile sig_atomic_t signals;
static void *volatile fault_at;

static void on_bus(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	CHECK(sig == SIGBUS && si->si_code == BUS_ADRERR);
	signals = signals + 1;
	fault_at = si->si_addr;
	siglongjmp(back, 1);
}

static int faults(const volatile char *p)
{
	if (sigsetjmp(back, 0)) {
		sigset_t set;

		CHECK(fault_at == p);
		sigemptyset(&set);
		sigaddset(&set, SIGBUS);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		return 1;
	}
	return *p == 0 ? 0 : *p;
}

static void on_bus_again(int sig, siginfo_t *si, void *uc)
{
	static const unsigned char load_length = 3; /* movzbl (%rdi), %eax */

	(void)sig;
	fault_at = si->si_addr;
	signals = signals + 1;
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += load_length;
}

static unsigned load(const volatile char *p)
{
	unsigned v;

	__asm__ volatile("xor %%eax, %%eax; movzbl (%%rdi), %%eax" : "=a"(v) : "D"(p) : "memory");
	return v;
}

/* A file that becomes shorter under its mapping, and longer again */
static void test_shorter(int how, int prot, const char *name)
{
	struct sigaction act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, old;
	int fd = fresh(0), sum = 0;
	char *p;

	for (int i = 0; i < 4; i++)
		CHECK(pwrite(fd, "abcd", 4, i * PAGE) == 4);
	CHECK(ftruncate(fd, 4 * PAGE) == 0);
	p = mmap(NULL, 8 * PAGE, prot, how, fd, 0);
	NEED(p != MAP_FAILED && sigaction(SIGBUS, &act, &old) == 0);
	signals = 0;
	CHECK(!faults(p + 4) && faults(p + 4 * PAGE) && p[PAGE] == 'a');
	if (prot & PROT_WRITE)
		p[2 * PAGE + 7] = 'x';
	CHECK(ftruncate(fd, PAGE) == 0);
	CHECK(p[0] == 'a' && faults(p + PAGE) && faults(p + PAGE) && faults(p + 3 * PAGE + 5) && signals == 4);
	act.sa_sigaction = on_bus_again;
	CHECK(sigaction(SIGBUS, &act, NULL) == 0);
	for (int i = 0; i < 1000; i++)
		sum += (int)load(p + (1 + i % 3) * PAGE + i) + (int)load(p + 1);
	CHECK(signals == 1004 && sum == 1000 * 'b');
	CHECK(ftruncate(fd, 3 * PAGE) == 0);
	CHECK(load(p + PAGE) == 0 && load(p + 2 * PAGE + 7) == 0 && signals == 1004);
	CHECK(load(p + 3 * PAGE) == 0 && signals == 1005 && fault_at == p + 3 * PAGE);
	CHECK(sigaction(SIGBUS, &old, NULL) == 0 && munmap(p, 8 * PAGE) == 0 && close(fd) == 0);
	step(name);
}

/* ... and its end, when nobody handles that */
static void test_ends(void)
{
	int fd = fresh(2 * PAGE), status;
	pid_t child = fork();

	NEED(child >= 0);
	if (!child) {
		char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

		CHECK(p[PAGE] == 0 && ftruncate(fd, PAGE) == 0);
		_exit(p[PAGE]);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS && close(fd) == 0);
	step("a process that reads past the end of what was a file");
}

/* An instruction is fetched there. */
static void test_fetch(void)
{
	struct sigaction act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_NODEFER}, old;
	int fd = fresh(2 * PAGE);
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), *at = p + PAGE;
	void (*fn)(void);

	NEED(p != MAP_FAILED && sigaction(SIGBUS, &act, &old) == 0 && ftruncate(fd, PAGE) == 0);
	memcpy(&fn, &at, sizeof(fn));
	signals = 0;
	if (!sigsetjmp(back, 1))
		fn();
	CHECK(signals == 1 && fault_at == at);
	CHECK(sigaction(SIGBUS, &old, NULL) == 0 && munmap(p, 2 * PAGE) == 0 && close(fd) == 0);
	step("code past the end of what was a file");
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	alarms = alarms + (sig == SIGALRM);
}

/* A computation after two such accesses, with no call in between: how far it comes before a signal is replayed, too. */
static void test_interrupted(void)
{
	struct sigaction act = {.sa_sigaction = on_bus_again, .sa_flags = SA_SIGINFO}, old, tick = {.sa_handler = on_alarm};
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	int fd = fresh(3 * PAGE), null = open("/dev/null", O_WRONLY);
	volatile unsigned long count = 0;
	char *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	NEED(p != MAP_FAILED && sigaction(SIGBUS, &act, &old) == 0 && sigaction(SIGALRM, &tick, NULL) == 0);
	CHECK(ftruncate(fd, PAGE) == 0);
	signals = 0;
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	count = load(p + PAGE) + load(p + 2 * PAGE);
	while (!alarms)
		count = count + 1;
	CHECK(write(null, (void *)&count, sizeof(count)) == sizeof(count));
	CHECK(signals == 2 && signal(SIGALRM, SIG_DFL) == on_alarm && close(null) == 0);
	CHECK(sigaction(SIGBUS, &old, NULL) == 0 && munmap(p, 3 * PAGE) == 0 && close(fd) == 0);
	step("a computation after two faults is interrupted");
}

static void test_segments(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
	char *p;

	NEED(id >= 0);
	for (int hole = 0; hole < 2; hole++) {
		p = shmat(id, NULL, 0);
		NEED(p != (void *)-1);
		CHECK(p[2 * PAGE] == (hole ? 'y' : 0));
		p[2 * PAGE] = 'y';
		CHECK(munmap(p + hole * PAGE, PAGE) == 0);
		CHECK(p[2 * PAGE] == 'y' && shmdt(p) == 0);
	}
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	step("segments that are unmapped in part");
}

/* One that meets a hole changes what is before it */
static void test_protection(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED && munmap(p + 2 * PAGE, PAGE) == 0);
	CHECK(mprotect(p, 3 * PAGE, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM);
	p[0] = p[PAGE] = 1;
	CHECK(mlock(p, PAGE) == 0);
	CHECK(madvise(p, PAGE, MADV_DONTNEED) == -1 && errno == EINVAL && p[0] == 1);
	CHECK(munlock(p, PAGE) == 0 && madvise(p, PAGE, MADV_DONTNEED) == 0 && p[0] == 0);
	CHECK(munmap(p, 2 * PAGE) == 0);
	step("protection up to a hole, locked memory");
}

int main(void)
{
	test_huge();
	test_protection();
	test_grow(MAP_PRIVATE, "a private mapping of a file that grows");
	test_written();
	test_shorter(MAP_PRIVATE, PROT_READ, "a private mapping of a file that is truncated");
	test_shorter(MAP_PRIVATE, PROT_READ | PROT_WRITE, "a private, written mapping of a file that is truncated");
	test_ends();
	test_fetch();
	test_interrupted();
	test_grow(MAP_SHARED, "a shared mapping of a file that grows");
	test_shorter(MAP_SHARED, PROT_READ | PROT_WRITE, "a shared mapping of a file that is truncated");
	test_code();
	test_longer();
	test_segments();
	return check_status();
}
