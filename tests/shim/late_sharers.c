/* SPDX-License-Identifier: MIT */
/*
 * late_sharers.c: processes that share memory, of which some run their first instruction only after others, forked
 * before them, have written there and ended. All of them run on one processor, so that this happens.
 */
#include "check.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CHILDREN 60

static void on_one_processor(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	NEED(sched_getaffinity(0, sizeof(all), &all) == 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	NEED(sched_setaffinity(0, sizeof(one), &one) == 0);
}

int main(void)
{
	int *last = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int told[2], sum = 0, mine;

	NEED(last != MAP_FAILED && pipe(told) == 0);
	on_one_processor();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (!pid) {
			mine = __atomic_add_fetch(last, 1, __ATOMIC_SEQ_CST);
			_exit(write(told[1], &mine, sizeof(mine)) != sizeof(mine));
		}
	}
	for (int i = 0; i < CHILDREN; i++) {
		int status;

		NEED(wait(&status) > 0 && status == 0);
		NEED(read(told[0], &mine, sizeof(mine)) == sizeof(mine));
		sum += mine;
	}
	CHECK(sum == CHILDREN * (CHILDREN + 1) / 2);
	step("numbered");
	return check_status();
}
