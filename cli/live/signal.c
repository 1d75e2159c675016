/* SPDX-License-Identifier: MIT */
/* signal.c: decides which signals of the live process GDB is told of. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "live/internal.h"

#define SIG_PREEMPT 64 /* the recorder's, see plugins/record/core/sigaction.h */

/*
 * Is it an access to memory that is shared with other processes? The recorder has protected that memory
 * (plugins/record/shm/pages.c).
 */
static bool is_shared(pid_t pid, uint64_t addr)
{
	struct mapping m;

	return maps_find(pid, addr, &m) && m.shared;
}

bool live_is_internal(struct trace *t, const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGSYS:
		return si->si_code > 0;
	case SIG_PREEMPT:
	case 32: /* glibc's: cancellation, setxid */
	case 33:
		return true;
	case SIGSEGV:
		return (si->si_code == SI_KERNEL && trace_at_input(t)) ||
		       (si->si_code == SEGV_ACCERR && is_shared(t->pid, (uint64_t)si->si_addr));
	}
	return false;
}

static bool is_blocked(pid_t tid, int sig)
{
	uint64_t mask;

	return !ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) && mask >> (sig - 1) & 1;
}

bool live_is_coming(const struct group *g, int sig)
{
	struct __ptrace_peeksiginfo_args args = {.flags = PTRACE_PEEKSIGINFO_SHARED, .nr = 1};
	const struct group_thread *stopped = NULL, *takes = NULL;
	siginfo_t si;

	for (unsigned i = 0; i < g->n; i++)
		stopped = g->v[i]->t.alive ? g->v[i] : stopped;
	while (stopped && ptrace(PTRACE_PEEKSIGINFO, stopped->t.tid, &args, &si) == 1) {
		args.off++;
		if (si.si_signo != sig)
			continue;
		for (unsigned i = 0; i < g->n && !takes; i++)
			takes = g->v[i]->t.alive && !is_blocked(g->v[i]->t.tid, sig) ? g->v[i] : NULL;
		return takes != NULL;
	}
	return false;
}

bool live_is_caught(pid_t pid, int sig)
{
	char path[64], line[256];
	cleanup_fclose FILE *f = NULL;
	uint64_t caught = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "SigCgt: %" SCNx64, &caught) != 1)
		;
	return caught >> (sig - 1) & 1;
}
