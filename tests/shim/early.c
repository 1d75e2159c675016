/* SPDX-License-Identifier: MIT */
/* early.c: what a program looks at before the recorder is there: an allocator of its own counts the CPUs in the loader. */
#include "check.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOKS 100000 /* a loader with many libraries takes its time */

static cpu_set_t seen;

static int one(void)
{
	return 1;
}

/* Called while the program is relocated, when nothing of libc may be. */
__attribute__((used)) static int (*look(void))(void)
{
	for (int i = 0; i < LOOKS; i++) {
		long ret;

		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "a"(SYS_sched_getaffinity), "D"(0), "S"(sizeof(seen)), "d"(&seen)
				 : "rcx", "r11", "memory");
	}
	return one;
}

int early(void) __attribute__((ifunc("look")));

int main(int argc, char **argv)
{
	char *again[] = {argv[0], (char *)"child", NULL};
	cpu_set_t set;
	int status;
	pid_t pid;

	CHECK(early() == 1 && CPU_COUNT(&seen) > 0);
	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	CHECK(CPU_EQUAL(&seen, &set));
	CHECK(dprintf(1, "%d\n", CPU_COUNT(&seen)) > 0);
	if (argc > 1)
		return check_status();
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", again);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("cpus");
	return check_status();
}
