/* SPDX-License-Identifier: MIT */
/* test_shim_frames.c: frames of the shim, for which this program stands, below the loader's. */
#include "../base/test.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "visibility/shim_frames.h"

#define MOST_STEPS 100000

extern const char __executable_start[], etext[];

/* The first call of a function through the PLT: the loader binds it. */
static _Noreturn void call_unbound(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	_exit(getsid(0) < 0);
}

/* At each instruction of the loader, also where a function has not saved the register by which its caller's frame is
 * found. */
static void below_the_loader(void **state)
{
	struct shim_frames frames = {0};
	struct visibility s;
	struct err e = {0};
	int status, in_loader = 0;
	pid_t pid = fork();

	if (!pid)
		call_unbound();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	visibility_find(pid, &s, &e); /* it finds no shim, but the others */
	s.shim = (struct text){(uint64_t)__executable_start, (uint64_t)etext};
	for (int i = 0; i < MOST_STEPS; i++) {
		struct user_regs_struct r;

		assert_false(ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			break;
		assert_false(ptrace(PTRACE_GETREGS, pid, 0, &r));
		if (!visibility_is_loader(&s, r.rip))
			continue;
		in_loader++;
		if (in_loader < 200 || i % 64 == 0)
			assert_true(shim_frames_of_call(&frames, &s, pid, &r));
	}
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_true(in_loader > 20);
	shim_frames_fini(&frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
