/* SPDX-License-Identifier: MIT */
/* scenarios.c: see scenarios.h. The stores in question are in assembly, between labels. */
#include "scenarios.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

volatile uint64_t counter, other, iterations;
volatile uint32_t flag;
struct near near __attribute__((aligned(64)));
char big[1 << 20];
volatile char *pointer;
volatile uint64_t table[16];
struct node *volatile list;

#define LABELLED(name, insn)                                                                       \
	".globl " #name "\n" #name ":\n\t" insn "\n.globl " #name "_end\n" #name "_end:\n"

void scenario_exit(struct target_ctl *ctl)
{
	target_wait(ctl);
	_exit(7);
}

void scenario_spin(struct target_ctl *ctl)
{
	target_wait(ctl);
	for (;;)
		counter++;
}

void scenario_store(struct target_ctl *ctl)
{
	target_wait(ctl);
	other = 1;
	__asm__ volatile(LABELLED(store_flag, "movl $1, flag(%%rip)")::: "memory");
	target_end();
	other = 2;
	target_end();
	flag = 2;
	for (;;)
		pause();
}

static void *spinner(void *arg)
{
	for (;;)
		other++;
	return NULL;
}

static void *counting(void *arg)
{
	struct target_ctl *ctl = arg;

	target_wait(ctl);
	for (;;) {
		counter++;
		target_end();
	}
	return NULL;
}

void scenario_threads(struct target_ctl *ctl)
{
	pthread_t a, b;

	pthread_create(&a, NULL, spinner, NULL);
	pthread_create(&b, NULL, counting, ctl);
	for (;;)
		pause();
}

static void on_signal(int sig)
{
	flag = (uint32_t)sig;
}

void scenario_signal(struct target_ctl *ctl)
{
	signal(SIGUSR1, on_signal);
	target_wait(ctl);
	raise(SIGUSR1);
	target_end();
	for (;;)
		pause();
}

void scenario_sleep(struct target_ctl *ctl)
{
	struct timespec ts = {.tv_nsec = 300000000}, from, to;

	target_wait(ctl);
	clock_gettime(CLOCK_MONOTONIC, &from);
	ctl->out[0] = (uint64_t)(nanosleep(&ts, NULL) != 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ctl->out[1] =
		(uint64_t)((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
	target_end();
	for (;;)
		pause();
}

void scenario_fault(struct target_ctl *ctl)
{
	target_wait(ctl);
	pointer = NULL;
	other = 5;
	*pointer = 1;
}

void scenario_queued(struct target_ctl *ctl)
{
	siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};
	sigset_t set;

	target_wait(ctl);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), ctl->tid, SIGSEGV, &info);
	for (;;)
		counter++;
}

void scenario_pair(struct target_ctl *ctl)
{
	target_wait(ctl);
	for (uint64_t i = 0; i < 100; i++) {
		__asm__ volatile("incq counter(%%rip)" ::: "memory", "cc");
		if (i < 70)
			__asm__ volatile("incq other(%%rip)" ::: "memory", "cc");
	}
	target_end();
	for (;;)
		pause();
}

void scenario_rare(struct target_ctl *ctl)
{
	uint64_t n = iterations, at = n / 10 * 7;

	target_wait(ctl);
	for (uint64_t i = 0; i < n; i++) {
		__asm__ volatile(LABELLED(store_counter, "incq counter(%%rip)")::: "memory", "cc");
		if (i == at)
			__asm__ volatile(LABELLED(rare_flag, "movl $1, flag(%%rip)")::: "memory");
	}
	target_end();
	for (;;)
		pause();
}

void scenario_memcpy(struct target_ctl *ctl)
{
	const char *from = big;
	char *to = near.buffer;
	size_t n = 80;

	target_wait(ctl);
	for (int i = 0; i < 20000; i++)
		other++;
	big[70] = 'x';
	__asm__ volatile(LABELLED(rep_movs, "rep movsb") : "+S"(from), "+D"(to), "+c"(n)::"memory");
	target_end();
	for (;;)
		pause();
}

void scenario_stos(struct target_ctl *ctl)
{
	uint64_t *to = (uint64_t *)(uintptr_t)table;
	size_t n = 12;

	target_wait(ctl);
	__asm__ volatile(LABELLED(rep_stos, "rep stosq")
			 : "+D"(to), "+c"(n)
			 : "a"(9ull)
			 : "memory");
	target_end();
	for (;;)
		pause();
}

__attribute__((noinline, used)) void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

void scenario_call(struct target_ctl *ctl)
{
	uint64_t *slot;

	/* the word below the stack pointer, where the next call puts its return address */
	__asm__ volatile("leaq -8(%%rsp), %0" : "=r"(slot));
	*slot = 0;
	ctl->out[0] = ADDR(slot);
	target_wait(ctl);
	__asm__ volatile("movq $0, -8(%%rsp)\n\t" LABELLED(call_insn, "call nothing")::
				 : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
				   "r11", "cc");
	target_end();
	for (;;)
		pause();
}

static struct node nodes[1000];

void scenario_list(struct target_ctl *ctl)
{
	struct node *last;

	list = last = &nodes[0];
	target_wait(ctl);
	for (int i = 1; i < 1000; i++) {
		nodes[i].value = (uint64_t)i;
		last->next = &nodes[i];
		last = &nodes[i];
		if (i == 600)
			list = &nodes[300];
	}
	target_end();
	for (;;)
		pause();
}

void scenario_words(struct target_ctl *ctl)
{
	target_wait(ctl);
	for (uint64_t round = 0; round < iterations; round++) {
		for (int i = 0; i < 16; i += 2)
			table[i] = table[i] + 1;
		other = round;
		if (round == iterations / 2)
			__asm__ volatile(LABELLED(words_store, "movq $1000000000, table+48(%%rip)")
					 : ::"memory");
	}
	target_end();
	for (;;)
		pause();
}

void scenario_push(struct target_ctl *ctl)
{
	target_wait(ctl);
	flag = 1;
	for (uint64_t i = 0; i < iterations; i++) {
		struct node *n = &nodes[i % 1000];

		if (i < 1000) {
			n->value = i;
			n->next = list;
			__asm__ volatile(LABELLED(push_store, "movq %0, list(%%rip)")::"r"(n)
					 : "memory");
		}
		table[2] = i < 12 ? i : 11;
	}
	target_end();
	for (;;)
		pause();
}
