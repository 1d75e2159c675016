/* SPDX-License-Identifier: MIT */
/* handler_masks.c: signals that a handler blocks or allows for what it interrupted, and faults whose frame has no
 * place. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <ucontext.h>

static sigset_t add, drop, seen;

static void edits(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	seen = uc->uc_sigmask;
	for (int i = 1; i < 32; i++) {
		if (sigismember(&add, i))
			sigaddset(&uc->uc_sigmask, i);
		if (sigismember(&drop, i))
			sigdelset(&uc->uc_sigmask, i);
	}
	if (sig == SIGILL || sig == SIGSEGV)
		uc->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

static void handle(int sig, int flags)
{
	struct sigaction sa = {.sa_sigaction = edits, .sa_flags = SA_SIGINFO | flags};

	NEED(sigaction(sig, &sa, NULL) == 0);
}

static int blocked(int sig)
{
	sigset_t now;

	return pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, sig);
}

static void illegal(void)
{
	__asm__ volatile("ud2");
}

/* Adds sig to the mask, and takes it away again. */
static void one(int sig, void (*interrupted)(void))
{
	sigemptyset(&drop);
	sigaddset(&add, sig);
	interrupted();
	CHECK(!sigismember(&seen, sig) && blocked(sig));
	sigemptyset(&add);
	interrupted();
	CHECK(sigismember(&seen, sig) && blocked(sig));
	sigaddset(&drop, sig);
	interrupted();
	CHECK(sigismember(&seen, sig) && !blocked(sig));
}

static void asynchronous(void)
{
	raise(SIGUSR1);
}

/* What a thread blocks ends the process when it happens all the same. */
static void *fault(void *arg)
{
	sigaddset(&add, SIGSEGV);
	raise(SIGUSR1);
	*(volatile int *)16 = 0;
	return arg;
}

static void blocked_fault(void)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (pid == 0) {
		handle(SIGSEGV, 0);
		pthread_create(&t, NULL, fault, NULL);
		pthread_join(t, NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* SIGILL's handler has no stack: SIGSEGV's has, and the program goes on. */
static void no_frame(void)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};

	NEED(sigaltstack(&ss, NULL) == 0);
	handle(SIGSEGV, SA_ONSTACK);
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov $0x800000001000, %%rsp\n\t"
			 "ud2\n\t"
			 "mov %%rbx, %%rsp"
			 :
			 :
			 : "rbx", "memory");
}

int main(void)
{
	const int sigs[] = {SIGSEGV, SIGUSR2, SIGTRAP, SIGBUS};

	handle(SIGUSR1, 0);
	handle(SIGILL, 0);
	for (int i = 0; i < 4; i++) {
		one(sigs[i], asynchronous);
		one(sigs[i], illegal);
	}
	step("masks");
	blocked_fault();
	step("a blocked fault");
	no_frame();
	step("no frame");
	return check_status();
}
