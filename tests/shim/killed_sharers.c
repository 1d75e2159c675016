/* SPDX-License-Identifier: MIT */
/*
 * killed_sharers.c: processes that share memory and are killed while they wait for their turn, or have it: the others go on.
 */
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CHILDREN 4
#define ROUNDS 12
#define ENOUGH 40

static struct shared {
	_Atomic long done[CHILDREN];
} *shared;

static void work(int id)
{
	for (;;) {
		atomic_fetch_add(&shared->done[id], 1);
		getppid();
	}
}

static int all_have_worked(void)
{
	for (int i = 0; i < CHILDREN; i++)
		if (atomic_load(&shared->done[i]) < ENOUGH)
			return 0;
	return 1;
}

static void one_round(void)
{
	pid_t pid[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		atomic_store(&shared->done[i], 0);
		pid[i] = fork();
		NEED(pid[i] >= 0);
		if (!pid[i])
			work(i);
	}
	while (!all_have_worked())
		getppid();
	for (int i = 0; i < CHILDREN; i++) {
		int status;

		NEED(kill(pid[i], SIGKILL) == 0);
		NEED(waitpid(pid[i], &status, 0) == pid[i]);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	step("killed");
	return check_status();
}
