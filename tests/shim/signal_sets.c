/* SPDX-License-Identifier: MIT */
/*
 * signal_sets.c: several signals are unblocked at once, or wait for a call that does not block them: the kernel sets
 * all of them up before any handler runs, so the last one's runs first and to its end.
 */
#include "check.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

static char trace[4096];
static size_t length;
static uint64_t interrupted_at[65], mask_of[65];
static char *frame_of[65];
static sigjmp_buf back;
static int raises;

static void put(const char *what, int number)
{
	length += (size_t)snprintf(trace + length, sizeof(trace) - length, "%s%d ", what, number);
}

static void is(const char *want)
{
	if (strcmp(trace, want))
		printf("want: %s\ngot:  %s\n", want, trace);
	CHECK(!strcmp(trace, want));
	length = 0;
	trace[0] = 0;
}

static void on_signal(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;
	char here;

	interrupted_at[sig] = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	memcpy(&mask_of[sig], &uc->uc_sigmask, 8);
	frame_of[sig] = &here;
	put("(", sig);
	CHECK(getppid() > 0); /* an event in which the next one may come */
	if (sig == SIGRTMIN)
		put("=", si->si_value.sival_int);
	if (raises) {
		raises = 0;
		CHECK(raise(sig) == 0);
	}
	CHECK(write(-1, "", 1) == -1);
	put(")", sig);
}

static void jumps(int sig, siginfo_t *si, void *uc)
{
	(void)si;
	(void)uc;
	put("jump", sig);
	siglongjmp(back, 1);
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags, int blocks)
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	if (blocks)
		sigaddset(&sa.sa_mask, blocks);
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void mask_all(int how)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGTERM);
	CHECK(sigprocmask(how, &all, NULL) == 0);
}

static void send_three(void)
{
	mask_all(SIG_BLOCK);
	CHECK(kill(getpid(), SIGALRM) == 0);
	CHECK(kill(getpid(), SIGUSR2) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
}

static void test_order(void)
{
	handle(SIGUSR1, on_signal, 0, 0);
	handle(SIGUSR2, on_signal, 0, 0);
	handle(SIGALRM, on_signal, 0, 0);
	send_three();
	mask_all(SIG_UNBLOCK);
	is("(14 )14 (12 )12 (10 )10 ");
	CHECK(interrupted_at[SIGALRM] == (uint64_t)on_signal && interrupted_at[SIGUSR2] == (uint64_t)on_signal);
	CHECK(interrupted_at[SIGUSR1] != (uint64_t)on_signal);
	CHECK(mask_of[SIGUSR1] == 0 && mask_of[SIGUSR2] == 1u << 9 && mask_of[SIGALRM] == (1u << 9 | 1u << 11));
	CHECK(frame_of[SIGALRM] < frame_of[SIGUSR2] && frame_of[SIGUSR2] < frame_of[SIGUSR1]);
	step("the last one's handler runs first");
	/* of the process, once more, while its handler runs, of the thread */
	mask_all(SIG_BLOCK);
	raises = 1;
	CHECK(kill(getpid(), SIGUSR1) == 0 && raise(SIGUSR1) == 0);
	mask_all(SIG_UNBLOCK);
	is("(10 )10 (10 )10 (10 )10 ");
	step("one for the process and one for the thread are two");
}

static void test_masks(void)
{
	handle(SIGUSR2, on_signal, 0, SIGALRM);
	send_three();
	mask_all(SIG_UNBLOCK);
	is("(12 )12 (14 )14 (10 )10 ");
	handle(SIGUSR1, on_signal, 0, SIGUSR2);
	send_three();
	mask_all(SIG_UNBLOCK);
	is("(14 )14 (10 )10 (12 )12 ");
	handle(SIGUSR1, on_signal, 0, SIGALRM);
	handle(SIGUSR2, on_signal, 0, 0);
	send_three();
	mask_all(SIG_UNBLOCK);
	is("(12 )12 (10 )10 (14 )14 ");
	handle(SIGUSR1, on_signal, 0, 0);
	step("masks of handlers are those of the next ones");
	for (int nodefer = 0; nodefer < 2; nodefer++) {
		handle(SIGRTMIN, on_signal, nodefer ? SA_NODEFER : 0, 0);
		mask_all(SIG_BLOCK);
		for (int i = 1; i <= 3; i++)
			CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0);
		mask_all(SIG_UNBLOCK);
		is(nodefer ? "(34 =3 )34 (34 =2 )34 (34 =1 )34 " : "(34 =1 )34 (34 =2 )34 (34 =3 )34 ");
	}
	step("signals that are queued");
}

static void test_faults_first(void)
{
	handle(SIGHUP, on_signal, 0, 0);
	handle(SIGFPE, on_signal, 0, 0);
	handle(SIGSEGV, on_signal, 0, 0);
	mask_all(SIG_BLOCK);
	CHECK(raise(SIGHUP) == 0 && raise(SIGSEGV) == 0 && raise(SIGFPE) == 0);
	mask_all(SIG_UNBLOCK);
	is("(1 )1 (11 )11 (8 )8 ");
	step("those of faults are set up first");
}

static void test_jump(void)
{
	handle(SIGALRM, jumps, 0, 0);
	send_three();
	if (sigsetjmp(back, 1) == 0)
		mask_all(SIG_UNBLOCK);
	mask_all(SIG_UNBLOCK);
	is("jump14 ");
	handle(SIGALRM, on_signal, 0, 0);
	step("a jump out of one leaves those below it");
}

static char stack_memory[65536];

static void test_stacks(void)
{
	stack_t ss = {.ss_sp = stack_memory, .ss_size = sizeof(stack_memory)}, off = {.ss_flags = SS_DISABLE};

	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGUSR2, on_signal, SA_ONSTACK, 0);
	send_three();
	mask_all(SIG_UNBLOCK);
	is("(14 )14 (12 )12 (10 )10 ");
	CHECK(frame_of[SIGUSR2] > stack_memory && frame_of[SIGUSR2] < stack_memory + sizeof(stack_memory));
	CHECK(frame_of[SIGALRM] > stack_memory && frame_of[SIGALRM] < frame_of[SIGUSR2]);
	CHECK(frame_of[SIGUSR1] > stack_memory + sizeof(stack_memory) || frame_of[SIGUSR1] < stack_memory);
	CHECK(sigaltstack(&off, NULL) == 0);
	handle(SIGUSR2, on_signal, 0, 0);
	step("on an alternate stack");
}

static void test_waits(void)
{
	sigset_t none;

	sigemptyset(&none);
	send_three();
	CHECK(sigsuspend(&none) == -1 && errno == EINTR);
	is("(14 )14 (12 )12 (10 )10 ");
	send_three();
	CHECK(ppoll(NULL, 0, NULL, &none) == -1 && errno == EINTR);
	is("(14 )14 (12 )12 (10 )10 ");
	send_three();
	CHECK(syscall(SYS_rt_sigsuspend, &none, 8) == -1 && errno == EINTR);
	is("(14 )14 (12 )12 (10 )10 ");
	mask_all(SIG_UNBLOCK);
	step("in a wait that does not block them");
}

int main(void)
{
	test_order();
	test_masks();
	test_faults_first();
	test_jump();
	test_stacks();
	test_waits();
	return check_status();
}
