/* SPDX-License-Identifier: MIT */
/*
 * handler_edits.c: handlers that change the registers of a system call that they interrupt: where it returns, and with which result;
 * also with SA_RESTART, and behind a call that is over. And loops that signals end, in which only the high half of a word changes;
 * and one in which a handler of SIGSEGV sends the thread elsewhere, as virtual machines do for null pointers, or jumps away.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

extern char edits_after[], edits_call[];
static volatile int calls, edit_result, edit_place, goes_on, due;

static void handler(int sig, siginfo_t *si, void *uc)
{
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	int at_call = g[REG_RIP] == (greg_t)edits_call;
	int in_call = g[REG_RAX] == -EINTR && g[REG_RIP] == (greg_t)edits_call + 2;

	(void)si;
	if (sig == SIGALRM && (!due || !(goes_on ? at_call : in_call)))
		return; /* it has come before the call, or once more after it */
	due = 0;
	calls++;
	if (edit_place)
		g[REG_RIP] = (greg_t)edits_after;
	if (edit_result)
		g[REG_RAX] = edit_result;
}

/* What is in rax behind `after`; 5 more if it came by the instruction in between. */
__attribute__((noinline)) static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile(".globl edits_call\nedits_call: syscall\n"
			 "	add $5, %%rax\n"
			 ".globl edits_after\nedits_after: nop"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static void set(int flags)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	goes_on = flags == SA_RESTART;
	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGUSR1, &a, NULL);
}

/* A read that only the signal ends. */
static long read_nothing(int fd)
{
	struct itimerval t = {{0, 20000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
	char c;
	long ret;

	due = 1;
	setitimer(ITIMER_REAL, &t, NULL);
	ret = call(SYS_read, fd, (long)&c, 1);
	setitimer(ITIMER_REAL, &never, NULL);
	return ret;
}

static volatile int stop;
static volatile unsigned long word;

static void end(int sig)
{
	(void)sig;
	stop = 1;
}

static void loops(void)
{
	struct itimerval t = {{0, 0}, {0, 100000}};
	unsigned long i = 7, sum = 0;

	signal(SIGALRM, end);
	stop = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	while (!stop) {
		i += 1ul << 32;
		sum ^= i;
	}
	CHECK((unsigned)i == 7 && (unsigned)sum <= 7);
	stop = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	while (!stop)
		word += 1ul << 32;
	CHECK((unsigned)word == 0);
}

/* Its address and that of where a null pointer leads to are known to the handler. */
extern char edits_load[], edits_null[];
long edits_get(const long *p);
__asm__(".text\n.globl edits_get\nedits_get:\n"
	"edits_load: mov (%rdi), %rax\n	ret\n"
	"edits_null: mov $7, %eax\n	ret\n");
static sigjmp_buf jump;
static volatile int jumps, jumped;

static void null_check(int sig, siginfo_t *si, void *uc)
{
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;

	(void)si;
	if (g[REG_RIP] != (greg_t)edits_load) {
		signal(sig, SIG_DFL);
	} else if (jumps) {
		jumped++;
		siglongjmp(jump, 1);
	} else {
		g[REG_RIP] = (greg_t)edits_null;
	}
}

static void null_checks(int ms)
{
	struct sigaction a = {.sa_sigaction = null_check, .sa_flags = SA_SIGINFO};
	struct itimerval t = {{0, 0}, {0, ms * 1000}};
	volatile long n = 0, sum = 0;
	const long one = 1;

	sigaction(SIGSEGV, &a, NULL);
	stop = jumped = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	for (; !stop; n++)
		if (!jumps || n % 1000 || !sigsetjmp(jump, 1))
			sum += edits_get(n % 1000 ? &one : NULL);
	CHECK(sum == n + (jumps ? -1 : 6) * ((n + 999) / 1000) && (!jumps || jumped == (n + 999) / 1000));
}

int main(void)
{
	int fds[2];

	NEED(pipe(fds) == 0);
	set(0);
	CHECK(read_nothing(fds[0]) == -EINTR + 5 && !due);
	edit_result = 1234;
	CHECK(read_nothing(fds[0]) == 1239);
	edit_place = 1;
	CHECK(read_nothing(fds[0]) == 1234);
	edit_result = 0;
	CHECK(read_nothing(fds[0]) == -EINTR);
	step("a call that fails");
	set(SA_RESTART);
	edit_result = 77;
	CHECK(read_nothing(fds[0]) == 77 && !due);
	step("a call that would go on");
	edit_result = edit_place = 0;
	CHECK(call(SYS_kill, getpid(), SIGUSR1, 0) == 5);
	edit_place = 1;
	CHECK(call(SYS_kill, getpid(), SIGUSR1, 0) == 0);
	edit_result = 9;
	CHECK(call(SYS_kill, getpid(), SIGUSR1, 0) == 9);
	CHECK(calls == 8);
	step("a call that is over");
	loops();
	step("high halves");
	null_checks(10);
	null_checks(10);
	jumps = 1;
	null_checks(10);
	step("null pointers");
	return check_status();
}
