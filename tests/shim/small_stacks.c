/* SPDX-License-Identifier: MIT */
/*
 * small_stacks.c: stacks that are just large enough: alternate signal stacks, those of makecontext, and of threads. Nothing below
 * them changes, handlers run where they should, and sigaltstack tells what the program has set.
 * CFLAGS: -Wl,-z,now
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#define BELOW 65536u
#define CANARY 0xa5
#define AUTODISARM (1u << 31) /* SS_AUTODISARM */
#define ROUNDS 400

static unsigned char *area;
static stack_t alt;
static volatile sig_atomic_t runs, on_stack, told;
static volatile int nest;
static int to[2], from[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem;
static sigjmp_buf env;

static unsigned char *make(size_t size)
{
	area = mmap(NULL, BELOW + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(area != MAP_FAILED);
	memset(area, CANARY, BELOW);
	return area + BELOW;
}

/* Is all as it was below the stack? */
static void check_below(size_t size)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BELOW; i++)
		n += area[i] != CANARY;
	CHECK(n == 0);
	munmap(area, BELOW + size);
}

static int in_alt(const void *p)
{
	return (const char *)p >= (char *)alt.ss_sp && (const char *)p < (char *)alt.ss_sp + alt.ss_size;
}

/* Calls of several kinds: system calls, wrapped ones, and locks. */
static void calls(void)
{
	struct timespec now;
	char c = 'c';

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (write(to[1], &c, 1) == 1 && read(to[0], &c, 1) == 1)
		syscall(SYS_getppid);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	sem_post(&sem);
	sem_wait(&sem);
	close(open("/dev/null", O_RDONLY));
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	stack_t now;

	(void)info;
	on_stack += in_alt(&now);
	told += sigaltstack(NULL, &now) == 0 && now.ss_sp == alt.ss_sp && now.ss_size == alt.ss_size && now.ss_flags == SS_ONSTACK &&
		sigaltstack(&alt, NULL) < 0 && errno == EPERM && uc->uc_stack.ss_sp == alt.ss_sp;
	if (sig != SIGUSR2 && nest)
		raise(SIGUSR2);
	runs++;
}

/* The same with calls that need a page. */
static void on_signal_calls(int sig, siginfo_t *info, void *context)
{
	calls();
	on_signal(sig, info, context);
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	NEED(sigaction(sig, &act, NULL) == 0);
}

static void use_alt(unsigned char *at, size_t size, unsigned flags)
{
	alt = (stack_t){.ss_sp = at, .ss_size = size, .ss_flags = (int)flags};
	NEED(sigaltstack(&alt, NULL) == 0);
}

static void no_alt(void)
{
	stack_t off = {.ss_flags = SS_DISABLE}, was;

	CHECK(sigaltstack(&off, &was) == 0 && was.ss_sp == alt.ss_sp);
	CHECK(sigaltstack(NULL, &was) == 0 && was.ss_flags == SS_DISABLE);
}

/* In a call, in a wait, in a computation, and at a fault. */
static void signals_of_all_kinds(void)
{
	struct itimerval soon = {{0, 0}, {0, 3000}}, often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	volatile char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int before;
	char c;

	raise(SIGUSR1);
	CHECK(runs > 0);
	before = runs;
	setitimer(ITIMER_REAL, &often, NULL); /* the first may come before the call */
	CHECK(read(from[0], &c, 1) < 0 && errno == EINTR && runs > before);
	setitimer(ITIMER_REAL, &never, NULL);
	before = runs;
	setitimer(ITIMER_REAL, &soon, NULL);
	while (runs == before)
		;
	if (sigsetjmp(env, 1) == 0)
		*p = 1;
	else
		before = -1;
	CHECK(before == -1);
	munmap((void *)p, 4096);
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	on_stack += in_alt(&sig);
	siglongjmp(env, 1);
}

/* What a signal takes on a stack: the kernel says it. */
static size_t frame_size(void)
{
	size_t n = getauxval(51 /* AT_MINSIGSTKSZ */);

	return n ? n : 2048;
}

static void alternate(size_t size, int nested, void (*fn)(int, siginfo_t *, void *))
{
	if (size < (size_t)(nested + 1) * frame_size() + 512)
		return; /* natively it would not do */
	runs = on_stack = told = 0;
	nest = nested;
	use_alt(make(size), size, 0);
	handle(SIGUSR1, fn, SA_ONSTACK);
	handle(SIGUSR2, fn, SA_ONSTACK);
	handle(SIGALRM, fn, SA_ONSTACK);
	handle(SIGSEGV, jump_out, SA_ONSTACK);
	signals_of_all_kinds();
	CHECK(on_stack == runs + 1 && told == runs && runs >= 3 * (nested + 1));
	no_alt();
	check_below(size);
}

static void test_alternate(void)
{
	static const size_t sizes[] = {2048, 4096, 5120, 8192, 16384, 65536};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		alternate(sizes[i], 0, on_signal);
		alternate(sizes[i], 1, on_signal);
		if (sizes[i] >= 8192)
			alternate(sizes[i], 0, on_signal_calls);
	}
	step("alternate signal stacks");
}

/* A handler that is left by a jump, again and again, out of calls that wait, and of computations. */
static void test_jumps(void)
{
	struct itimerval soon = {{0, 0}, {0, 1000}};
	volatile int i;
	char c;

	use_alt(make(16384), 16384, 0);
	handle(SIGUSR1, jump_out, SA_ONSTACK);
	handle(SIGALRM, jump_out, 0);
	on_stack = 0;
	for (i = 0; i < ROUNDS; i++)
		if (sigsetjmp(env, 1) == 0)
			raise(SIGUSR1);
	CHECK(on_stack == ROUNDS);
	for (i = 0; i < ROUNDS; i++)
		if (sigsetjmp(env, 1) == 0) {
			setitimer(ITIMER_REAL, &soon, NULL);
			CHECK(read(from[0], &c, 1) < 0);
		}
	no_alt();
	check_below(16384);
	step("jumps out of handlers");
}

static void is_disarmed(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	stack_t now;

	(void)info;
	told += sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE);
	told += ((unsigned)uc->uc_stack.ss_flags & AUTODISARM) && uc->uc_stack.ss_sp == alt.ss_sp;
	on_stack += in_alt(&now);
	if (sig == SIGUSR1)
		raise(SIGUSR2); /* on the same stack, below */
}

static ucontext_t main_context, other, in_handler;

static void switch_away(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	on_stack += in_alt(&sig);
	swapcontext(&in_handler, &main_context);
	runs++;
}

static void raises(void)
{
	raise(SIGUSR1);
}

static void run_on(unsigned char *at, size_t size, void (*fn)(void))
{
	NEED(getcontext(&other) == 0);
	other.uc_stack.ss_sp = at;
	other.uc_stack.ss_size = size;
	other.uc_link = &main_context;
	makecontext(&other, fn, 0);
	NEED(swapcontext(&main_context, &other) == 0);
}

/* SS_AUTODISARM: the handler may leave its stack, and come back. */
static void test_autodisarm(void)
{
	unsigned char *stack = malloc(65536);
	stack_t now;

	use_alt(make(32768), 32768, AUTODISARM);
	runs = on_stack = told = 0;
	handle(SIGUSR1, is_disarmed, SA_ONSTACK);
	handle(SIGUSR2, is_disarmed, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(told == 3 && on_stack == 2); /* the second one finds no alternate stack, and runs below the first */
	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == alt.ss_sp && (unsigned)now.ss_flags == AUTODISARM);
	handle(SIGUSR1, switch_away, SA_ONSTACK);
	run_on(stack, 65536, raises);
	CHECK(runs == 0 && on_stack == 3);
	CHECK(sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE));
	calls();
	swapcontext(&main_context, &in_handler);
	CHECK(runs == 1);
	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == alt.ss_sp && (unsigned)now.ss_flags == AUTODISARM);
	no_alt();
	free(stack);
	check_below(32768);
	step("SS_AUTODISARM");
}

/* ---- stacks of makecontext ---- */

static volatile int entered;

static void only_system_calls(void)
{
	char c = 'c';

	for (int i = 0; i < 3; i++) {
		CHECK(syscall(SYS_write, to[1], &c, 1L) == 1 && syscall(SYS_read, to[0], &c, 1L) == 1);
		swapcontext(&other, &main_context);
	}
	entered++;
}

static void all_calls(void)
{
	struct itimerval soon = {{0, 0}, {0, 3000}};
	int before = runs;

	calls();
	swapcontext(&other, &main_context);
	calls();
	swapcontext(&other, &main_context);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (runs == before)
		;
	swapcontext(&other, &main_context);
	entered++;
}

static void context_of(size_t size, void (*fn)(void))
{
	unsigned char *at = make(size);

	entered = 0;
	run_on(at, size, fn);
	for (int i = 0; i < 3; i++)
		NEED(swapcontext(&main_context, &other) == 0);
	CHECK(entered == 1);
	check_below(size);
}

static void test_contexts(void)
{
	static const size_t sizes[] = {2048, 4096, 8192, 16384, 65536};

	nest = 0;
	use_alt(malloc(65536), 65536, 0);
	handle(SIGALRM, on_signal, SA_ONSTACK);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		context_of(sizes[i], only_system_calls);
		if (sizes[i] >= 4096)
			context_of(sizes[i], all_calls);
	}
	no_alt();
	free(alt.ss_sp);
	step("stacks of makecontext");
}

/* ---- threads ---- */

static void *in_thread(void *arg)
{
	struct itimerval soon = {{0, 0}, {0, 3000}};
	int before = runs;

	calls();
	raise(SIGUSR1);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (runs < before + 2)
		;
	calls();
	return arg;
}

static void count(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	runs++;
}

static void test_threads(void)
{
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	sigset_t alarms;
	pthread_attr_t attr;
	pthread_t t;

	handle(SIGUSR1, count, 0);
	handle(SIGALRM, count, 0);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	for (int i = 0; i < 3; i++) {
		pthread_attr_init(&attr);
		NEED(pthread_attr_setstack(&attr, make(size), size) == 0);
		NEED(pthread_create(&t, &attr, in_thread, NULL) == 0);
		pthread_sigmask(SIG_BLOCK, &alarms, NULL);
		pthread_join(t, NULL);
		pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
		pthread_attr_destroy(&attr);
		check_below(size);
	}
	step("threads");
}

/* ---- what a handler changes ---- */

static volatile int skipped;

static void repair(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig, (void)info;
	skipped++;
	uc->uc_mcontext.gregs[REG_RIP] += 2; /* the length of movb %cl, (%rax) */
	uc->uc_mcontext.gregs[REG_RCX] = 42;
	uc->uc_mcontext.fpregs->_xmm[1].element[0] = 4711;
}

static void test_changes(void)
{
	unsigned long rcx = 0, xmm = 0, kept = 0;
	char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	handle(SIGSEGV, repair, 0);
	__asm__ volatile("mov $17, %%edx\n\tmovq %%rdx, %%xmm2\n\tpxor %%xmm1, %%xmm1\n\txor %%ecx, %%ecx\n\t"
			 "movb %%cl, (%%rax)\n\t" /* two bytes */
			 "movq %%xmm1, %%rbx\n\tmovq %%xmm2, %%rdx\n\t"
			 : "=c"(rcx), "=b"(xmm), "=d"(kept)
			 : "a"(p)
			 : "xmm1", "xmm2", "memory");
	CHECK(skipped == 1 && rcx == 42 && xmm == 4711 && kept == 17);
	signal(SIGSEGV, SIG_DFL);
	munmap(p, 4096);
	step("a handler that changes registers");
}

static void test_errors(void)
{
	char place[4096];
	stack_t ss = {.ss_sp = place, .ss_size = 1024}, now;

	CHECK(sigaltstack(&ss, NULL) < 0 && errno == ENOMEM);
	ss.ss_flags = 64;
	CHECK(sigaltstack(&ss, NULL) < 0 && errno == EINVAL);
	CHECK(syscall(SYS_sigaltstack, 8L, 0L) < 0 && errno == EFAULT);
	CHECK(syscall(SYS_sigaltstack, 0L, 8L) < 0 && errno == EFAULT);
	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
	step("errors");
}

int main(void)
{
	NEED(pipe(to) == 0 && pipe(from) == 0 && sem_init(&sem, 0, 0) == 0);
	test_alternate();
	test_jumps();
	test_autodisarm();
	test_contexts();
	test_threads();
	test_changes();
	test_errors();
	return check_status();
}
