/* SPDX-License-Identifier: MIT */
/* bad_pointers.c: calls that are given memory that is not there fail with EFAULT, where the recorder makes them by itself, too. */
#include "check.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static void *bad, *read_only;

#define FAULTS(...) CHECK(syscall(__VA_ARGS__) == -1 && errno == EFAULT)

static void test_signals(void)
{
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
	unsigned long act[4] = {0}, mask = 0;

	FAULTS(SYS_sigaltstack, bad, NULL);
	FAULTS(SYS_sigaltstack, &ss, bad);
	FAULTS(SYS_sigaltstack, NULL, read_only);
	FAULTS(SYS_rt_sigaction, SIGUSR1, bad, NULL, 8);
	FAULTS(SYS_rt_sigaction, SIGUSR1, act, bad, 8);
	FAULTS(SYS_rt_sigaction, SIGUSR1, NULL, read_only, 8);
	FAULTS(SYS_rt_sigprocmask, SIG_BLOCK, bad, NULL, 8);
	FAULTS(SYS_rt_sigprocmask, SIG_BLOCK, &mask, bad, 8);
	FAULTS(SYS_rt_sigprocmask, SIG_BLOCK, NULL, read_only, 8);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, bad, NULL, 4) == -1 && errno == EINVAL);
	step("signals");
}

static void test_processes(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	int status;
	long pid;

	FAULTS(SYS_clone3, bad, sizeof(args));
	CHECK(syscall(SYS_clone3, &args, 8) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_clone3, &args, 8192) == -1 && errno == E2BIG);
	FAULTS(SYS_execve, bad, bad, bad);
	FAULTS(SYS_execve, "/bin/true", bad, NULL);
	FAULTS(SYS_prlimit64, 0, RLIMIT_NOFILE, bad, NULL);
	FAULTS(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, read_only);
	FAULTS(SYS_getrlimit, RLIMIT_STACK, bad);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(7);
	FAULTS(SYS_wait4, pid, bad, 0, NULL);
	waitpid((pid_t)pid, &status, 0);
	step("processes");
}

static void test_others(void)
{
	struct timespec short_time = {0, 1000};

	FAULTS(SYS_nanosleep, bad, NULL);
	CHECK(syscall(SYS_nanosleep, &short_time, bad) == 0);
	FAULTS(SYS_pselect6, 0, NULL, NULL, NULL, NULL, bad);
	FAULTS(SYS_futex, bad, 0, 1, NULL);
	FAULTS(SYS_openat, AT_FDCWD, bad, 0);
	FAULTS(SYS_name_to_handle_at, AT_FDCWD, bad, bad, bad, 0);
	FAULTS(SYS_capget, bad, bad);
	FAULTS(SYS_process_vm_writev, getpid(), bad, 1, bad, 1, 0);
	step("others");
}

int main(void)
{
	bad = (void *)0x7ffff0000000 - 4096;
	munmap(bad, 4096);
	read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test_signals();
	test_processes();
	test_others();
	return check_status();
}
