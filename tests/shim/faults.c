/* SPDX-License-Identifier: MIT */
/* faults.c: memory that is not there yet, or not allowed, and programs that handle it. CFLAGS: -O0 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

static char *page;
static volatile int faults;
static sigjmp_buf back;

static void make_writable(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)uc;
	faults++;
	CHECK(si->si_addr >= (void *)page && si->si_addr < (void *)(page + 8192) && si->si_code == SEGV_ACCERR);
	CHECK(mprotect(page, 8192, PROT_READ | PROT_WRITE) == 0);
}

static void test_protect(void)
{
	struct sigaction sa = {.sa_sigaction = make_writable, .sa_flags = SA_SIGINFO};

	page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(page != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	page[5] = 1;
	CHECK(faults == 1 && page[5] == 1);
	for (int i = 0; i < 20; i++) {
		CHECK(mprotect(page, 8192, PROT_READ) == 0);
		page[4096 + i] = (char)i;
	}
	CHECK(faults == 21 && page[4096 + 19] == 19);
	step("protected memory");
}

static void jump(int sig)
{
	siglongjmp(back, sig);
}

static void skip(int sig, siginfo_t *si, void *uc)
{
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;

	(void)si;
	faults += sig;
	g[REG_RIP] += 2; /* ud2, or hlt and nop */
}

static void test_jumps(void)
{
	struct sigaction sa = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	volatile int zero = 0, got = 0;

	signal(SIGSEGV, jump);
	for (volatile int i = 0; i < 10; i++) {
		if (sigsetjmp(back, 1) == 0)
			*(volatile int *)8 = i;
		else
			got++;
	}
	CHECK(got == 10);
	signal(SIGFPE, jump);
	if (sigsetjmp(back, 1) == 0)
		got = 100 / zero;
	else
		got = 77;
	CHECK(got == 77);
	signal(SIGBUS, jump);
	signal(SIGTRAP, jump);
	got = sigsetjmp(back, 1);
	if (got == 0)
		__asm__ volatile("int3");
	CHECK(got == SIGTRAP);
	faults = 0;
	sigaction(SIGILL, &sa, NULL);
	__asm__ volatile("ud2");
	sigaction(SIGSEGV, &sa, NULL);
	__asm__ volatile("hlt\n\tnop");
	CHECK(faults == SIGILL + SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
	step("jumps out of handlers");
}

static int deep(int n)
{
	volatile char room[4096];

	room[0] = (char)n;
	return n ? deep(n - 1) + room[0] : 0;
}

static void on_stack(int sig)
{
	_exit(sig == SIGSEGV ? 21 : 22);
}

static void test_stack(void)
{
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536}, old;
	struct sigaction sa = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
	int status;
	pid_t pid;

	CHECK(deep(500) != 0x7fffffff); /* grows by 2 MB */
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		CHECK(sigaltstack(&ss, NULL) == 0 && sigaltstack(NULL, &old) == 0 && old.ss_sp == ss.ss_sp);
		sigaction(SIGSEGV, &sa, NULL);
		deep(1 << 30);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 21);
	free(ss.ss_sp);
	step("stack");
}

static void test_holes(void)
{
	size_t size = 1ul << 36;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *q;

	NEED(p != MAP_FAILED);
	for (size_t i = 0; i < size; i += size / 16)
		p[i] = (char)(i >> 32);
	CHECK(munmap(p + size / 2, size / 4) == 0 && p[size / 4] == (char)(size >> 34));
	q = mmap(p + size / 2, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(q == p + size / 2 && q[0] == 0);
	q = mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(q == MAP_FAILED && errno == EEXIST);
	q = mremap(p, 4096, 1 << 20, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q[0] == 0 && munmap(q, 1 << 20) == 0);
	CHECK(munmap(p + 4096, size - 4096) == 0);
	step("holes");
}

static void test_code(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*fn)(void);

	NEED(code != MAP_FAILED);
	for (int i = 1; i <= 3; i++) {
		CHECK(mprotect(code, 4096, PROT_READ | PROT_WRITE) == 0);
		/* mov $39, %eax; syscall (getpid); add $i, %eax; ret */
		memcpy(code, (unsigned char[]){0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x83, 0xc0, (unsigned char)i, 0xc3}, 11);
		CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
		memcpy(&fn, &code, sizeof(fn));
		CHECK(fn() == getpid() + i);
	}
	munmap(code, 4096);
	step("generated code");
}

int main(void)
{
	test_protect();
	test_jumps();
	test_stack();
	test_holes();
	test_code();
	return check_status();
}
