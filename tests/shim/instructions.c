/* SPDX-License-Identifier: MIT */
/*
 * instructions.c: instructions that bring input in without a call: rdrand, rdseed, rdtsc, rdtscp, rdpid and cpuid, with all registers and
 * widths, in the program, in a library and in its constructor, in code that is made at run time, by threads and children. Bytes that look like them are left alone.
 *
 * NONDET-OUTPUT
 * PLUGIN: -DPLUGIN
 */
#include "check.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define RAND(reg, as)                                                                              \
	static int rand_##reg(uint64_t *v)                                                         \
	{                                                                                          \
		uint64_t r = 0;                                                                    \
		uint64_t flags;                                                                    \
                                                                                                   \
		__asm__ volatile("mov $-1, %%" as "; rdrand %%" #reg "; mov %%" as                 \
				 ", %0; lea -128(%%rsp), %%rsp; pushfq; popq %1; lea 128(%%rsp), %%rsp"              \
				 : "=&a"(r), "=&D"(flags)::"cc", "rdx", "rbx", "rsi", "r8", "r12", "r13", "r15");  \
		*v = r;                                                                            \
		CHECK((flags & 0x8d4) == 0); /* all but the carry are cleared */                   \
		return (int)(flags & 1);                                                           \
	}
RAND(rdx, "rdx")
RAND(r12, "r12")
RAND(r13, "r13")
RAND(ebx, "rbx")
RAND(esi, "rsi")
RAND(r15d, "r15")
RAND(dx, "rdx")
RAND(r8w, "r8")

static uint64_t seed(void)
{
	uint64_t v;
	uint8_t ok;

	do
		__asm__ volatile("rdseed %0; setc %1" : "=r"(v), "=qm"(ok)::"cc");
	while (!ok);
	return v;
}

static uint64_t tsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static uint64_t tscp(uint32_t *cpu)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*cpu));
	return (uint64_t)hi << 32 | lo;
}

static int has_rand, has_seed, has_pid;

static void features(void)
{
	unsigned a, b = 0, c = 0, d;

	NEED(__get_cpuid(1, &a, &b, &c, &d));
	has_rand = c >> 30 & 1;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		has_seed = b >> 18 & 1;
		has_pid = c >> 22 & 1;
	}
}

static void draw(const char *who)
{
	static int (*const all[])(uint64_t *) = {rand_rdx, rand_r12, rand_r13, rand_ebx, rand_esi, rand_r15d, rand_dx, rand_r8w};
	static const int width[] = {64, 64, 64, 32, 32, 32, 16, 16};
	uint64_t v = 0, t[3];
	uint32_t cpu;

	printf("%s:", who);
	for (unsigned i = 0; has_rand && i < sizeof(all) / sizeof(all[0]); i++) {
		for (int k = 0; k < 100 && !all[i](&v); k++)
			;
		if (width[i] == 32)
			CHECK(v >> 32 == 0);
		if (width[i] == 16)
			CHECK(v >> 16 == 0xffffffffffff);
		printf(" %llx", (unsigned long long)v);
	}
	if (has_seed)
		printf(" %llx", (unsigned long long)seed());
	t[0] = tsc();
	t[1] = tscp(&cpu);
	t[2] = tsc();
	CHECK(t[0] <= t[1] && t[1] <= t[2]);
	printf(" %llx %llx\n", (unsigned long long)t[0], (unsigned long long)t[2]);
	fflush(stdout);
}

#ifdef PLUGIN

static uint64_t at_start;

__attribute__((constructor)) static void start(void)
{
	features();
	if (has_rand)
		while (!rand_rdx(&at_start))
			;
}

void plugin(void);
void plugin(void)
{
	printf("constructor %llx\n", (unsigned long long)at_start);
	draw("library");
}

#else

/* The bytes of rdrand, rdtsc and rdtscp, as numbers, as ends and beginnings of others, and behind a jump. */
static uint32_t lookalikes(uint32_t x)
{
	uint32_t a, b, c = x;

	__asm__ volatile("mov $0xf0c70f12, %0\n"
			 "	mov $0x90310f90, %1\n"
			 "	xor $0xf9010f, %2\n"
			 "	jmp 1f\n"
			 "	.byte 0xb8, 0x0f, 0xc7, 0xf0, 0x0f\n" /* mov $0x0ff0c70f, %eax */
			 "1:	nop"
			 : "=&r"(a), "=&r"(b), "+r"(c)::"rax", "cc");
	return a ^ b ^ c;
}

/* movzbl (%rdi), %ecx; xor %eax, %eax: 0f b6 0f 31 c0 */
static uint32_t middle(const uint8_t *p)
{
	uint32_t a = 5, c;

	__asm__ volatile("movzbl (%%rdi), %%ecx; xor %%eax, %%eax" : "=c"(c), "+a"(a) : "D"(p) : "cc");
	return c + a;
}

/* As assemblers' code without unwind tables is. */
uint64_t bare_rand(void), bare_tsc(void);
uint32_t bare_cpuid(void), bare_number(void); /* the number has the bytes of cpuid */
void passed_cpuid(uint32_t leaf, uint32_t *results);
__asm__(".text\n"
	"	.rept 100\n	mov %rsi, %rax\n	add $7, %rax\n	.endr\n	ret\n"
	"bare_rand:\n	rdrand %rax\n	jnc bare_rand\n	ret\n"
	"	.rept 100\n	mov %rsi, %rax\n	xor $0x1234567, %eax\n	.endr\n	ret\n"
	"bare_tsc:\n	rdtsc\n	shl $32, %rdx\n	or %rdx, %rax\n	ret\n"
	"	.rept 100\n	mov %rsi, %rax\n	add $7, %rax\n	.endr\n	ret\n"
	"bare_cpuid:\n	push %rbx\n	mov $1, %eax\n	xor %ecx, %ecx\n	cpuid\n	mov %ebx, %eax\n	pop %rbx\n	ret\n"
	"bare_number:\n	mov $0xda89a20f, %eax\n	or %ebx, %edx\n	or %ecx, %edx\n	ret\n"
	"passed_cpuid:\n	push %rbx\n	mov %edi, %eax\n	mov $0, %ecx\n	cpuid\n	mov %eax, (%rsi)\n"
	"	mov %ebx, 4(%rsi)\n	mov %ecx, 8(%rsi)\n	mov %edx, 12(%rsi)\n	pop %rbx\n	ret\n");

static void *make(const uint8_t *bytes, size_t n, size_t before)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED && before + n <= 4096);
	memset(p, 0x90 /* nop */, before);
	memcpy(p + before, bytes, n);
	NEED(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	return p;
}

/* As compilers at run time do it: written, then made executable. */
static void test_made(void)
{
	static const uint8_t clock[] = {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3}; /* rdtsc ... */
	static const uint8_t number[] = {0x48, 0x0f, 0xc7, 0xf0, 0x73, 0xfa, 0xc3}; /* rdrand %rax; jae; ret */
	static const size_t before[] = {0, 7, 1000};
	uint64_t (*fn)(void), t[2];
	void *p;

	for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		p = make(clock, sizeof(clock), before[i]);
		memcpy(&fn, &p, sizeof(fn));
		t[0] = fn();
		t[1] = fn();
		CHECK(t[0] <= t[1] && munmap(p, 4096) == 0);
		printf("made %llx %llx\n", (unsigned long long)t[0], (unsigned long long)t[1]);
		if (!has_rand)
			continue;
		p = make(number, sizeof(number), before[i]);
		memcpy(&fn, &p, sizeof(fn));
		printf("made %llx\n", (unsigned long long)fn());
		CHECK(munmap(p, 4096) == 0);
	}
	step("code that is made at run time");
}

/* Which processor this is differs: a replay is not bound to the recorded ones. */
static void number_processors(void)
{
	cpu_set_t all, one;
	uint32_t a, b, c, d, results[4];

	NEED(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		__cpuid_count(1, 0, a, b, c, d);
		passed_cpuid(1, results);
		printf("processor %d: %x %x %x %x\n", i, a, b >> 24, bare_cpuid() >> 24, results[1] >> 24);
	}
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	step("processors");
}

static void *thread(void *arg)
{
	for (int i = 0; i < 20; i++)
		draw(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	void (*plugin)(void), *so;
	pthread_t t[2];
	uint8_t byte = 7;
	int status;
	pid_t pid;

	(void)argc;
	features();
	CHECK(lookalikes(1) == (0xf0c70f12u ^ 0x90310f90u ^ (1u ^ 0xf9010fu)));
	CHECK(middle(&byte) == 7);
	CHECK(bare_number() == 0xda89a20f);
	draw("program");
	if (has_rand)
		printf("bare %llx\n", (unsigned long long)bare_rand());
	printf("bare %llx\n", (unsigned long long)bare_tsc());
	if (has_pid) {
		uint64_t p;

		__asm__ volatile("rdpid %0" : "=r"(p));
		printf("processor %llu\n", (unsigned long long)p);
	}
	step("the program");
	number_processors();
	test_made();
	snprintf(path, sizeof(path), "%s.so", argv[0]);
	so = dlopen(path, RTLD_NOW);
	NEED(so);
	*(void **)&plugin = dlsym(so, "plugin");
	NEED(plugin);
	plugin();
	step("a library");
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, thread, i ? "one" : "two") == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	step("threads");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		draw("child");
		_exit(check_status());
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("a child");
	return check_status();
}

#endif
