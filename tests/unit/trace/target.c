/* SPDX-License-Identifier: MIT */
/* target.c: see target.h. */
#include "target.h"
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".text\n.globl target_gadget\ntarget_gadget:\n\tsyscall\n\tret\n");

void futex_wait(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0);
}

void target_wait(struct target_ctl *ctl)
{
	ctl->tid = (int32_t)syscall(SYS_gettid);
	__atomic_store_n(&ctl->ready, 1, __ATOMIC_SEQ_CST);
	futex_wake(&ctl->ready);
	while (!__atomic_load_n(&ctl->go, __ATOMIC_SEQ_CST))
		futex_wait(&ctl->go, 0);
}

__attribute__((noinline)) void target_end(void)
{
	__asm__ volatile("nop" ::: "memory");
}

void target_start(struct target *g, void (*fn)(struct target_ctl *ctl))
{
	memset(g, 0, sizeof(*g));
	g->ctl = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(g->ctl != MAP_FAILED);
	fflush(NULL);
	OK(trace_prepare(true, &e));
	OK(trace_pin(0, 0, &e));
	g->pid = fork();
	assert_true(g->pid >= 0);
	if (!g->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
		fn(g->ctl);
		_exit(0);
	}
	while (!__atomic_load_n(&g->ctl->ready, __ATOMIC_SEQ_CST))
		futex_wait(&g->ctl->ready, 0);
	OK(trace_seize(&g->t, g->pid, g->ctl->tid, &e));
}

void target_release(struct target *g)
{
	__atomic_store_n(&g->ctl->go, 1, __ATOMIC_SEQ_CST);
	futex_wake(&g->ctl->go);
}

void target_stop(struct target *g)
{
	if (g->t.pid == g->t.tid) {
		trace_kill(&g->t);
	} else {
		int status;

		kill(g->pid, SIGKILL);
		/* a traced thread that is not the leader is reaped by its tracer, before the leader
		 */
		while (waitpid(g->t.tid, &status, __WALL) == g->t.tid && WIFSTOPPED(status))
			;
		waitpid(g->pid, &status, __WALL);
	}
	munmap(g->ctl, 4096);
}

char target_state(pid_t pid, pid_t tid)
{
	char path[64], line[512], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	p = strrchr(line, ')');
	assert_non_null(p);
	return p[2];
}
