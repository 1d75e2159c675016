/* SPDX-License-Identifier: MIT */
/*
 * group.h: holds all threads of a process by ptrace, runs them together and stops them together (GDB's
 * all-stop mode). New threads join automatically. Call trace_prepare first. Other children of the
 * caller that end meanwhile are reaped silently.
 */
#ifndef FRED_TRACE_GROUP_H
#define FRED_TRACE_GROUP_H

#include "trace/trace.h"

struct group_thread {
	struct trace t; /* t.alive: stopped */
	int sig; /* delivered when it is resumed; 0: none */
	bool fresh; /* its first stop is yet to come */
	bool step; /* resumed by single steps */
	bool dying; /* PTRACE_O_TRACEEXIT: it executes no further instruction, and is not waited for */
	bool pending; /* `stop` happened while the others were being stopped, and is not reported yet */
	struct trace_stop stop;
};

/* GROUP_STORE: also stops at writes that do not change the value (visibility/breakpoints.h tells them apart). */
enum group_slot_kind { GROUP_OFF = 0, GROUP_BREAK, GROUP_WRITE, GROUP_ACCESS, GROUP_STORE };

struct group_slot {
	enum group_slot_kind kind;
	uint64_t addr;
	unsigned len;
};

/* Sets debug register i of one thread. */
int group_set_slot(struct trace *t, unsigned i, const struct group_slot *s, struct err *e);

struct group {
	pid_t pid; /* 0: nothing is held */
	unsigned n;
	struct group_thread **v;
	struct group_slot slot[TRACE_SLOTS]; /* debug registers of every thread; set before group_resume */
	int status; /* of the process, once it is gone; as from waitpid */
	unsigned sleep_us; /* how long group_wait sleeps next time; 0: it has not slept since group_resume */
	bool waiting; /* group_resume has resumed nobody yet, since a stop was pending */
	bool mortal; /* not a replay: its death is not an error; set before group_adopt */
	unsigned long options; /* further PTRACE_O_...; set before group_seize or group_adopt */
	/* With PTRACE_O_TRACEFORK: called with a child process that stands at its first instruction; it is detached
	 * afterwards. */
	void (*forked)(void *arg, pid_t child);
	void *arg;
};

/* Is it the stop after an execve (PTRACE_O_TRACEEXEC)? */
bool group_is_exec(const struct trace_stop *s);

/* Is it the stop in the call by which the process exits (PTRACE_O_TRACEEXIT)? Its memory still exists. *status: as from
 * waitpid. */
bool group_is_exit(const struct group_thread *th, const struct trace_stop *s, int *status);

/* The same stop of a thread that the caller moves itself, without group_wait; group_let_die lets that thread end. */
bool group_is_dying(const struct trace_stop *s);
int group_let_die(struct group *g, struct group_thread *th, struct err *e);

/* Takes over a single-threaded process that the caller traces already, and that is stopped. */
int group_adopt(struct group *g, pid_t pid, struct err *e);
/* Attaches to all threads of pid, and stops them. */
int group_seize(struct group *g, pid_t pid, struct err *e);
/* Detaches from all threads, which must be stopped. 1: nothing was done, since a signal is pending for one of them. */
int group_release(struct group *g, struct err *e);
/*
 * As group_release, but delivers the signals that stopped a thread, or that are in its `sig`. 1: nothing was done,
 * since a trap that the tracer has caused is pending.
 */
int group_let_go(struct group *g, struct err *e);
/* Kills the process and reaps its threads. */
void group_kill(struct group *g);

struct group_thread *group_find(const struct group *g, pid_t tid);

/*
 * Resumes all threads; the one with TID `step` (0: none) for one instruction. While a stop is pending they stay where
 * they are: group_wait reports it, and they go on with the thread that it is of.
 */
int group_resume(struct group *g, pid_t step, struct err *e);
/* Resumes one stopped thread as it ran before, with its `sig`; and those that group_resume has left because of it. */
int group_resume_one(struct group *g, struct group_thread *th, struct err *e);
/*
 * Waits for the next stop, for at most ms milliseconds; after group_resume less at first, since callers also look at
 * memory that the process writes. 1: *th stopped for *stop, the others may still
 * run; 0: no stop yet; 2: the process has ended; -1: error, ERR_KILLED for a replay that was killed. A
 * thread that ends is removed silently.
 */
int group_wait(struct group *g, unsigned ms, struct group_thread **th, struct trace_stop *stop, struct err *e);
/* Stops the threads that still run. If one of them stops for a reason of its own meanwhile, the next group_wait reports
 * that. */
int group_stop(struct group *g, struct err *e);

#endif
