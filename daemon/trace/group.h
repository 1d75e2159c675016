/* SPDX-License-Identifier: MIT */
/*
 * group.h: all threads of a process held by ptrace, run together, stopped together ("all-stop" of a
 * debugger). New threads join by themselves. trace_prepare comes first; other children of the caller that end
 * meanwhile are reaped without notice.
 */
#ifndef FRED_TRACE_GROUP_H
#define FRED_TRACE_GROUP_H

#include "trace/trace.h"

struct group_thread {
	struct trace t; /* t.alive: stopped */
	int sig; /* to be delivered when it goes on */
	bool fresh; /* its first stop is yet to come */
	bool step; /* goes on by single steps */
	bool dying; /* PTRACE_O_TRACEEXIT: it makes no further instruction, and is not waited for */
	bool pending; /* it stopped for this reason while the others were being stopped */
	struct trace_stop stop;
};

/* STORE: a write that changes nothing is a stop, too, for who tells them apart (visibility/breakpoints.h). */
enum group_slot_kind { GROUP_OFF = 0, GROUP_BREAK, GROUP_WRITE, GROUP_ACCESS, GROUP_STORE };

struct group_slot {
	enum group_slot_kind kind;
	uint64_t addr;
	unsigned len;
};

/* Sets a thread's debug register i to that. */
int group_set_slot(struct trace *t, unsigned i, const struct group_slot *s, struct err *e);

struct group {
	pid_t pid; /* 0: nothing is held */
	unsigned n;
	struct group_thread **v;
	struct group_slot slot[TRACE_SLOTS]; /* debug registers of every thread; set before group_resume */
	int status; /* of the process, once it is gone; as from waitpid */
	bool mortal; /* no replay: its end is no failure; set before group_adopt */
	unsigned long options; /* PTRACE_O_..., besides that new threads join; set before group_seize or group_adopt */
	/* PTRACE_O_TRACEFORK: a child process, stopped in its first instruction; it is let go of afterwards. */
	void (*forked)(void *arg, pid_t child);
	void *arg;
};

/* A stop for the program that the process has become: PTRACE_O_TRACEEXEC. */
bool group_is_exec(const struct trace_stop *s);

/* PTRACE_O_TRACEEXIT: a stop in the call by which the process exits; it still is all there. *status: as from waitpid. */
bool group_is_exit(const struct group_thread *th, const struct trace_stop *s, int *status);

/* PTRACE_O_TRACEEXIT, of a thread that the caller has moved by itself; and lets it. */
bool group_is_dying(const struct trace_stop *s);
int group_let_die(struct group *g, struct group_thread *th, struct err *e);

/* Takes over a process of one thread that the caller traces already, stopped. */
int group_adopt(struct group *g, pid_t pid, struct err *e);
/* Holds every thread of pid, stopped. */
int group_seize(struct group *g, pid_t pid, struct err *e);
/* Lets go of all threads, which stand; 1, and nothing happens: a signal is on its way to one of them. */
int group_release(struct group *g, struct err *e);
/* As group_release, but signals that stopped a thread, or are its `sig`, are delivered: 1: a trap of the tracer's is on its way. */
int group_let_go(struct group *g, struct err *e);
/* Kills the process and reaps its threads. */
void group_kill(struct group *g);

struct group_thread *group_find(const struct group *g, pid_t tid);

/* All threads go on; the one with TID `step` (0: none) by one instruction. */
int group_resume(struct group *g, pid_t step, struct err *e);
/* One stopped thread goes on, as it did before, with its `sig`. */
int group_resume_one(struct group *g, struct group_thread *th, struct err *e);
/*
 * Waits for the next stop, at most ms. 1: *th stopped for *stop, the others may still run; 0: nothing so far; 2: the
 * process is gone; a replay that was killed is ERR_KILLED. A thread that ended is forgotten without notice.
 */
int group_wait(struct group *g, unsigned ms, struct group_thread **th, struct trace_stop *stop, struct err *e);
/* Stops those that still run. What one of them stopped for just then is reported by the next group_wait. */
int group_stop(struct group *g, struct err *e);

#endif
