/* SPDX-License-Identifier: MIT */
/* live.h: for tests with a real GDB: start a target program, wait until it blocks, end it. */
#ifndef FRED_TEST_GDB_LIVE_H
#define FRED_TEST_GDB_LIVE_H

#include <sys/types.h>

#include "agent/agent.h"
#include "base/err.h"
#include "expr/compile.h"
#include "gdb/gdb.h"

struct live {
	pid_t pid;
	struct gdb *gdb;
	struct expr_place at; /* as live_look_from has set it */
};

/* Starts program (with one argument, if not NULL) and waits until all its `threads` are in a futex. */
pid_t live_start(const char *program, const char *arg, int threads);
/* The same, and GDB attached. Fails the test when something does not work. */
void live_attach(struct live *l, const char *program, const char *arg, int threads);
/* The same of a program with one thread, and live_look_from that. */
void live_in(struct live *l, const char *program, const char *func);
/* Expressions are those of the innermost frame of this function (NULL: of all), of this thread (0: the first). */
void live_look_from(struct live *l, pid_t tid, const char *func);
void live_end(struct live *l);
void live_kill(pid_t pid);
/* Reads "Name:" of /proc/PID/status as text (static buffer). */
const char *live_status(pid_t pid, const char *field);

/* Interprets bytecode on a process's memory. */
struct live_memory {
	pid_t pid;
};
extern const struct agent_ops live_agent_ops; /* ctx: struct live_memory */

/* The level of the innermost frame in this function; -1: none. */
int live_frame_of(struct gdb *g, pid_t tid, const char *func);

#endif
