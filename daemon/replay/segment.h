/* SPDX-License-Identifier: MIT */
/*
 * segment.h: inside a segment: between two neighbouring events exactly one thread moves. That thread is held
 * by ptrace from the event on, goes to the n-th time at an address, and can be copied or handed to GDB.
 */
#ifndef FRED_REPLAY_SEGMENT_H
#define FRED_REPLAY_SEGMENT_H

#include "target/target.h"
#include "trace/trace.h"

struct segment {
	struct target *t; /* borrowed */
	uint64_t n; /* the event before the segment */
	uint32_t thread; /* ordinal of the thread that moves */
	pid_t tid;
	uint64_t gadget; /* a `syscall` instruction that the shim's filter lets through */
	struct trace held;
	struct segment_turn {
		uint64_t stop_at;
		uint32_t state, cmd, go, owner, wake;
	} before; /* as it was before the thread got the turn */
	int sig; /* signal to be delivered when it goes on; 0: none */
	uint64_t passed; /* for segment_run_counting: arrivals at the other address */
	uint64_t armed; /* address of segment_next's breakpoint; 0: none */
};

/* Addresses in the control page as the target has it mapped. */
#define SEGMENT_TURN_ADDR (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, turn))
/*
 * 8 bytes: state and notify. Written when the process stops for the worker, but not, as the turn is, at each event on
 * the way.
 */
#define SEGMENT_STATE_ADDR (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, state))
_Static_assert(offsetof(struct replay_ctl, state) % 8 == 0, "it can be watched");

/* A `syscall` instruction of the shim in a process. */
int segment_find_gadget(pid_t pid, uint64_t *gadget, struct err *e);
/*
 * The ordinal of the thread that has this TID in a process or its copy, 0: none; and the TID of such a thread, 0: it
 * has none.
 */
uint32_t segment_thread_of(pid_t pid, pid_t tid);
/*
 * The ordinal of the living thread that the program knows by this TID, as its locks contain it. In a plain cell, this
 * is not the kernel's TID.
 */
uint32_t segment_thread_shown_as(pid_t pid, pid_t shown);
pid_t segment_tid_of(pid_t pid, uint32_t thread);

/*
 * The target is at event n: seizes the thread that does event n + 1 and gives it the turn; it has not moved yet.
 * ERR_USAGE: n is the last event. Call segment_end in any case.
 */
int segment_begin(struct segment *s, struct target *t, uint64_t n, struct err *e);
/*
 * The held thread has not moved: takes the turn back and releases it. The target is at event n as before; tracing has
 * ended. Another segment_begin may follow.
 */
int segment_cancel(struct segment *s, struct err *e);
/* Releases the held thread, which has not moved: it does event n + 1, and stops there. target_run_to waits for that. */
int segment_go_on(struct segment *s, struct err *e);
/* Kills what is still held (the target cannot be used afterwards), and ends tracing. */
int segment_end(struct segment *s, struct err *e);
/* Ends tracing alone: another process, or a debugger, has taken over the held thread. */
int segment_end_tracing(struct err *e);

/*
 * How far has this process (the target or a copy) come? *turn: the last event that it has done; *failed: it has
 * diverged, or the recorder in it could not go on.
 */
int segment_read_turn(pid_t pid, uint64_t *turn, bool *failed, struct err *e);
/* Has this process (the target or a copy) done event n + 1, or tried to do another one than was recorded? */
int segment_is_over(const struct segment *s, pid_t pid, bool *over, struct err *e);
/*
 * t, the segment's thread or a copy, has run for some time without a stop. *asleep: how many times in a row it was
 * found asleep (one that waits for a processor does not count). More than `most` times is an error: what it waits for
 * does not come.
 */
int segment_check_stall(const struct segment *s, struct trace *t, unsigned most, unsigned *asleep, struct err *e);

enum segment_stop { SEGMENT_HIT = 1, SEGMENT_OVER = 2 };
/*
 * Goes on to just before the next arrival at pc. Returns enum segment_stop, or -1. Uses debug register slots 0 and 1.
 */
int segment_next(struct segment *s, uint64_t pc, struct err *e);
/*
 * Runs to just before the hits-th arrival (from 1). ERR_USAGE: there are fewer; ERR_INTERNAL also if a copy that goes
 * there first does not find the same, since the processor has missed an arrival.
 */
int segment_run_to(struct segment *s, uint64_t pc, uint64_t hits, struct err *e);

/*
 * As segment_run_to, and counts arrivals at another address on the way, including one where it stops, but not one where
 * it began. Uses slots 0 to 2.
 */
int segment_run_counting(struct segment *s, uint64_t pc, uint64_t hits, uint64_t other, uint64_t *passed,
			 struct err *e);

/*
 * Makes a copy of the process as it is, with the held thread alone, off the timeline: calls in it go straight to libc.
 * The copy is stopped for GDB to attach; kill it with target_snap_kill. `from` is the held thread or a copy of it.
 */
int segment_copy(const struct segment *s, struct trace *from, pid_t *pid, struct err *e);
/*
 * The same, for a copy that outlives the target: it has a session of its own, so that a restored target can have the
 * PIDs of the target's process group and session.
 */
int segment_copy_apart(const struct segment *s, struct trace *from, pid_t *pid, struct err *e);
/* Gives a copy made by trace_fork, which shares the control page and more with its original, its own. */
int segment_unshare(struct trace *copy, struct err *e);
/* Gives the held process to GDB: it stays stopped where it is. */
int segment_release(struct segment *s, struct err *e);

#endif
