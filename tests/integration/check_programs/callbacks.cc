// SPDX-License-Identifier: MIT
/*
 * callbacks.cc: Functions of the program that libc calls inside of functions which the recorder wraps: inside each
 * other, with system calls in them, left by longjmp and by exceptions, and at a thread's end. A handler of signals lets
 * the program go on elsewhere.
 */
#ifndef BEYOND
#define BEYOND 1
#endif
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *block;
static jmp_buf out;
static int calls;

static void once(void)
{
	block[8 * BEYOND] = 1; /* BAD: outside */
	calls++;
}

static void once_that_throws(void)
{
	block[9 * BEYOND] = 1; /* BAD: outside */
	throw 1;
}

static int inner(struct dl_phdr_info *info, size_t, void *)
{
	block[10 * BEYOND] = info->dlpi_phnum != 0; /* BAD: outside */
	calls++;
	return 1;
}

static int outer(struct dl_phdr_info *, size_t, void *arg)
{
	static pthread_once_t control = PTHREAD_ONCE_INIT;

	pthread_once(&control, once);
	pthread_once(&control, once);
	dl_iterate_phdr(inner, arg);
	block[11 * BEYOND] = 1; /* BAD: outside */
	getppid();
	block[12 * BEYOND] = 1; /* BAD: outside */
	return 1;
}

static int jumps(struct dl_phdr_info *, size_t, void *)
{
	block[13 * BEYOND] = 1; /* BAD: outside */
	longjmp(out, 1);
}

static ssize_t written(void *cookie, const char *text, size_t n)
{
	if (text[0] == 'a')
		*(char *)cookie = block[14 * BEYOND]; /* BAD: outside */
	return (ssize_t)n;
}

static void ended(void *arg)
{
	static_cast<char *>(arg)[15 * BEYOND] = 1; /* BAD: outside, by THREAD 2 */
}

struct at_exit {
	~at_exit()
	{
		block[16 * BEYOND] = 1; /* BAD: outside */
	}
};

static void *thread(void *arg)
{
	pthread_key_t key;

	pthread_key_create(&key, ended);
	pthread_setspecific(key, arg);
	calls++;
	return nullptr;
}

/* char *p = block; p[22 * BEYOND] = 1; return 1; */
static int (*generated(void))(struct dl_phdr_info *, size_t, void *)
{
	unsigned char code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xc6, 0x40, 22 * BEYOND, 1, 0xb8, 1, 0, 0, 0, 0xc3};
	void *at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 2, &block, sizeof(block));
	return (int (*)(struct dl_phdr_info *, size_t, void *))memcpy(at, code, sizeof(code));
}

static void elsewhere(void)
{
	block[17 * BEYOND] = 1; /* BAD: outside */
	exit(0);
}

static void handler(int sig, siginfo_t *, void *context)
{
	greg_t *regs = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;

	if (sig == SIGSEGV)
		block[20 * BEYOND] = 1; /* BAD: outside */
	if (sig != SIGUSR1) {
		regs[REG_RIP] += 2;
		return;
	}
	regs[REG_RIP] = (greg_t)elsewhere;
	regs[REG_RSP] = ((regs[REG_RSP] - 4096) & -16) - 8;
}

int main(void)
{
	static at_exit last;
	cookie_io_functions_t io = {nullptr, written, nullptr, nullptr};
	struct sigaction act = {};
	char got[1];
	FILE *f = fopencookie(got, "w", io);
	pthread_t t;

	block = (char *)calloc(8, 1); /* ALLOC */
	dl_iterate_phdr(outer, nullptr);
	try {
		static pthread_once_t other = PTHREAD_ONCE_INIT;

		pthread_once(&other, once_that_throws);
	} catch (int) {
		block[18 * BEYOND] = 1; /* BAD: outside */
	}
	if (!setjmp(out))
		dl_iterate_phdr(jumps, nullptr);
	block[19 * BEYOND] = 1; /* BAD: outside */
	dl_iterate_phdr(generated(), nullptr); /* BAD: outside */
	fputs("a", f);
	fclose(f);
	if (got[0])
		calls++;
	pthread_create(&t, nullptr, thread, block);
	pthread_join(t, nullptr);
	act.sa_sigaction = handler;
	act.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &act, nullptr);
	sigaction(SIGILL, &act, nullptr);
	sigaction(SIGUSR1, &act, nullptr);
	__asm__ volatile("mov (%%rax), %%eax" ::"a"(8L)); /* two bytes, as the next one */
	__asm__ volatile("ud2");
	block[21 * BEYOND] = 1; /* BAD: outside */
	raise(SIGUSR1);
	return 1;
}
