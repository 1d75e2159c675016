/* SPDX-License-Identifier: MIT */
/* calls.h: system calls that a new process makes for its tracer, before the program's first instruction. */
#ifndef FRED_LAUNCH_CALLS_H
#define FRED_LAUNCH_CALLS_H

#include "launch/place.h"

/* A system call that a traced process is to make. */
struct place_one {
	long nr;
	uint64_t arg[3];
	unsigned in_data; /* bit N: argument N is an offset into the data that is put into its memory meanwhile */
};

#define PLACE_DATA 512u /* bytes, and how far below the stack pointer, where nothing is yet */

static inline int place_each(struct place *p, const struct place_one *calls, unsigned n, uint64_t data)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t a[3];

		for (unsigned k = 0; k < 3; k++)
			a[k] = calls[i].arg[k] + (calls[i].in_data >> k & 1 ? data : 0);
		if (place_inject(p, calls[i].nr, a[0], a[1], a[2], 0, 0, 0) < 0)
			return place_fail(p, "the kernel refuses a system call");
	}
	return 0;
}

static inline int place_calls_in(struct place *p, int in_exec, const struct place_one *calls, unsigned n,
				 const void *data, unsigned len)
{
	static const char zero[PLACE_DATA];
	uint64_t at;

	if (place_call(SYS_ptrace, PTRACE_GETREGS, p->pid, 0, (long)&p->regs, 0) < 0)
		return place_fail(p, "its registers cannot be read (ptrace)");
	at = (p->regs.rsp - 2 * PLACE_DATA) & ~15ull;
	if (place_see_maps(p) || place_find_gate(p) || (in_exec && place_step(p)) || place_write(p, at, data, len) ||
	    place_each(p, calls, n, at) || place_write(p, at, zero, len))
		return -1;
	p->regs.orig_rax = ~0ul;
	p->regs.rax = 0;
	if (place_call(SYS_ptrace, PTRACE_SETREGS, p->pid, 0, (long)&p->regs, 0) < 0)
		return place_fail(p, "its registers cannot be set (ptrace)");
	return 0;
}

/*
 * Has a process that the caller traces make system calls. in_exec: it is in its exec stop; else place_image has just
 * placed it. data: at most PLACE_DATA bytes. Returns NULL, or what failed.
 */
static inline const char *place_calls(pid_t pid, int in_exec, const struct place_one *calls, unsigned n,
				      const void *data, unsigned len)
{
	struct place *p = (struct place *)place_call(SYS_mmap, 0, sizeof(*p), PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t mask = 0, all = ~0ull;
	const char *why;

	if ((uint64_t)p >= (uint64_t)-4095)
		return "no memory";
	p->pid = pid;
	if (place_call(SYS_ptrace, PTRACE_GETSIGMASK, pid, 8, (long)&mask, 0) < 0 ||
	    place_call(SYS_ptrace, PTRACE_SETSIGMASK, pid, 8, (long)&all, 0) < 0)
		place_fail(p, "its signals cannot be blocked (ptrace)");
	else {
		place_calls_in(p, in_exec, calls, n, data, len);
		if (place_call(SYS_ptrace, PTRACE_SETSIGMASK, pid, 8, (long)&mask, 0) < 0)
			place_fail(p, "its signals cannot be unblocked (ptrace)");
	}
	why = p->why;
	place_call(SYS_munmap, (long)p, sizeof(*p), 0, 0, 0);
	return why;
}

#endif
