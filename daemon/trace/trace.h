/* SPDX-License-Identifier: MIT */
/*
 * trace.h: ptrace of single threads, synchronous, x86-64. Used by a process that is the parent of
 * the target or root over it: the init of a cell. One thread of the target is held at a time; the
 * others run on, or are blocked, or the process is group-stopped (then only the held one moves).
 *
 * Hardware watchpoints (data writes) and breakpoints share four slots, 0 to 3, per thread. Nothing
 * is ever written to the target's text.
 */
#ifndef FRED_TRACE_TRACE_H
#define FRED_TRACE_TRACE_H

#include "base/err.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define TRACE_XSTATE_MAX 16384 /* of a thread's extended registers: 11,008 bytes with AMX */
#define TRACE_SLOTS 4
#define TRACE_RED_ZONE 128 /* bytes below the stack pointer that a function may use */

struct trace {
	pid_t pid; /* thread group */
	pid_t tid;
	bool alive; /* traced and stopped; false once exited or detached */
	bool mixture; /* its memory is a mixture of two states: evaluating an expression may fail, or not end */
	bool aside; /* it goes on only to be examined: its values are not those around the transition */
	bool own; /* made by trace_fork: to be killed, not detached */
	bool mortal; /* not a replay: if it is killed, that is no failure (ERR_KILLED) */
	bool stale_interrupt; /* an interrupt may be pending that no caller waits for */
	bool runs; /* by trace_let_run */
	uint64_t dr[TRACE_SLOTS];
	uint64_t dr7;
	uint64_t stepped_from; /* the PC where the last start was, if that was for a single step; else 0 */
	unsigned long options; /* PTRACE_O_..., to be had again after trace_fork has set its own */
	uint64_t passes; /* of a local search (local.h): how often it came to end_break */
	uint64_t alt_lo, alt_end; /* trace_find_alt_stack; 0, 0: unknown, or none */
};

enum trace_why {
	TRACE_HIT = 1, /* watchpoints or breakpoints: `slots` */
	TRACE_STEPPED, /* one instruction done (and possibly `slots` hit by it) */
	TRACE_SIGNAL, /* `info` is about to be delivered: give its number to the next trace_cont (and possibly `slots`,
		       * if its own trap flag has raised it) */
	TRACE_TIMEOUT, /* a limit was reached, the thread was interrupted */
	TRACE_STOPPED, /* a group stop (SIGSTOP ...) by another process; the next trace_cont ends it */
	TRACE_EXITED, /* the thread is gone: `status` as from waitpid */
};

struct trace_stop {
	enum trace_why why;
	unsigned slots; /* bit i: slot i */
	siginfo_t info;
	int status;
	bool input; /* the fault of an instruction that brings input in: the recorder's */
};

/* Is it a fault of the program's own: raised by the kernel, and not one that fred uses? */
bool trace_is_fault(const struct trace_stop *s);
/*
 * Does the thread stand at rdtsc, or at one of those that the recorder has changed to be rdmsr, wrmsr or wbinvd
 * (plugins/record/input/patch.c)? Their faults have si_code SI_KERNEL.
 */
bool trace_at_input(struct trace *t);
/* Has the program executed an int3, fred's or its own? */
bool trace_is_int3(const struct trace_stop *s);

struct trace_limit {
	uint64_t wall_ns; /* 0: none */
	uint64_t cpu_ns; /* 0: none; CPU time of the thread's process */
	/* Called once, when the thread runs: what the caller has to do meanwhile. No ptrace of it. May be NULL. */
	void (*meanwhile)(void *ctx);
	void *ctx;
};

/*
 * Once per tracing process: SIGCHLD is blocked and set to default (waiting with a limit is done by
 * sigtimedwait), timers become exact. fifo: also SCHED_FIFO, not inherited by children, so that a
 * limit interrupts a busy thread on the same core at once; without the right to it, nothing
 * happens.
 */
int trace_prepare(bool fifo, struct err *e);
/* Binds a thread (0: the caller) to one core. A stop costs 6 us on the tracer's core, 48 across. */
int trace_pin(pid_t tid, int cpu, struct err *e);

/* Seizes thread tid of process pid and stops it where it is, also inside a system call. */
int trace_seize(struct trace *t, pid_t pid, pid_t tid, struct err *e);
/*
 * Clears the slots and detaches. stopped: the process is left in a group stop (SIGSTOP) with no further instruction
 * executed by this thread, for another debugger to attach.
 */
int trace_detach(struct trace *t, bool stopped, struct err *e);
/* Kills the whole process and reaps it, when the caller is its parent. Safe on a dead one. */
void trace_kill(struct trace *t);
/* Waits for the end of a process that was killed, a child of the caller, and of its threads, which may be traced. */
void trace_reap(pid_t pid);

/*
 * Lets the thread run on; the next trace_cont only waits until something happens. Until then nothing else may be done
 * with it.
 */
int trace_let_run(struct trace *t, struct err *e);
/* Runs on, delivering sig (0: none), until something happens. */
int trace_cont(struct trace *t, int sig, const struct trace_limit *limit, struct trace_stop *out, struct err *e);
/* Executes one instruction. A `rep` instruction counts each iteration. */
int trace_step(struct trace *t, int sig, struct trace_stop *out, struct err *e);
/* The same for an instruction that may wait in the kernel: TRACE_TIMEOUT after the limit, and the next step goes on.
 * trace_step waits for 20 s, then it is an error (ERR_INTERNAL). */
int trace_step_within(struct trace *t, int sig, const struct trace_limit *limit, struct trace_stop *out, struct err *e);
/*
 * A `syscall` leaves the flags in r11, also the one by which it was single-stepped. For callers that step in another
 * way than by trace_step: clears it there, so that the program cannot see it.
 */
int trace_hide_step(struct trace *t, struct err *e);
#define TRACE_SYSCALL_BYTES 2
/* Is it the instruction `syscall` at pc? */
bool trace_is_syscall(const struct trace *t, uint64_t pc);

int trace_get_regs(struct trace *t, struct user_regs_struct *r, struct err *e);
int trace_get_pc(struct trace *t, uint64_t *pc, struct err *e);
int trace_set_regs(struct trace *t, const struct user_regs_struct *r, struct err *e);
int trace_get_fpregs(struct trace *t, struct user_fpregs_struct *r, struct err *e);
/*
 * Reads all of the extended registers, in XSAVE's standard form. *len: the room in bytes; afterwards how many there
 * are.
 */
int trace_get_xsave(struct trace *t, void *xsave, size_t *len, struct err *e);

/* Stops after writes to [addr, addr + len): len 1, 2, 4 or 8, addr aligned to it. */
int trace_set_watch(struct trace *t, unsigned slot, uint64_t addr, unsigned len, struct err *e);
/* ... after reads and writes. */
int trace_set_access(struct trace *t, unsigned slot, uint64_t addr, unsigned len, struct err *e);
/* Stops before the instruction at addr is executed. */
int trace_set_break(struct trace *t, unsigned slot, uint64_t addr, struct err *e);
int trace_clear(struct trace *t, unsigned slot, struct err *e);
int trace_clear_all(struct trace *t, struct err *e);

/* CPU time of process pid so far; updated also while it runs. */
int trace_cpu_ns(pid_t pid, uint64_t *ns, struct err *e);

/* As many of the first len bytes as can be read: code at the end of a mapping. Returns how many. */
size_t trace_read_some(pid_t pid, uint64_t addr, void *buf, size_t len);
/* Exactly len bytes, or -1. */
int trace_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *e);
int trace_write(pid_t pid, uint64_t addr, const void *buf, size_t len, struct err *e);

/*
 * Lets the stopped thread do one system call by the `syscall` instruction at gadget and puts all
 * registers back. *ret as the kernel returned it (-errno). The thread may stand inside a system
 * call: that one is restarted afterwards as if nothing had happened.
 */
int trace_syscall(struct trace *t, uint64_t gadget, long nr, const uint64_t args[6], int64_t *ret, struct err *e);
/*
 * For a process made by trace_fork that is to be let go: it is killed when its parent ends, as one that is traced is
 * when its tracer does. The parent is the caller, and no thread but this one.
 */
int trace_end_with_parent(struct trace *t, uint64_t gadget, struct err *e);
/*
 * Forks the thread's process: the child has this one thread, stands in the same state and is
 * traced. It is a child of the target's parent (CLONE_PARENT), and its death sends the target no
 * signal. Slots are copied. Shared mappings stay shared, see trace_unshare_memory; but memory that
 * the process has mapped more than once becomes the copy's own.
 */
int trace_fork(struct trace *t, uint64_t gadget, struct trace *child, struct err *e);
/* Learns where the thread's alternate signal stack is (sigaltstack(2)), if there is room to ask; copies know it, too.
 */
int trace_find_alt_stack(struct trace *t, uint64_t gadget, struct err *e);
/* For copies: replaces every writable shared mapping by a private one with the same contents. */
int trace_unshare_memory(struct trace *t, uint64_t gadget, struct err *e);

#endif
