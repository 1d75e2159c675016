/* SPDX-License-Identifier: MIT */
/*
 * bridge.h: connects a debugger with a worker of the daemon. The worker connects to this process's socket when it is
 * ready. A child process, the runner, calls the daemon's operation `debug` and waits for its end.
 */
#ifndef FRED_BRIDGE_BRIDGE_H
#define FRED_BRIDGE_BRIDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bridge/progress_line.h"

struct bridge {
	char dir[64]; /* private, for sockets; "" in a child */
	char parents_dir[64]; /* in a child: removed by its bridge_end if the parent was killed */
	pid_t parent; /* in a child */
	pid_t runner; /* runs the operation; 0: none */
	/*
	 * A pipe to the process that answers the debugger, and to those that took its place later (live/live.h): each
	 * writes its PID, and the pipe is closed when the last one ends. -1: the runner itself answers the debugger.
	 */
	int life;
	int worker; /* connected; -1: not yet */
	int signal_fd; /* of signalfd; -1: none */
	/* Called for a signal; 1: stop. NULL: every signal stops. */
	int (*on_signal)(struct bridge *b, int sig);
	const struct cli *cli; /* borrowed */
	json_t *params; /* of the operation, for another worker */
	pid_t gdb; /* gdb_run.h */
	bool interrupts, ending; /* interrupts: gdb_run.c passes a SIGINT on to the worker; ending: GDB is to end */
	bool heard; /* a SIGINT has come: see relay.h */
	struct progress_line line; /* progress of the worker's command */
	int listener; /* where the worker connects */
	char path[108]; /* the listener's */
	char host_files[108]; /* made by the worker: see bridge_sysroot */
};

/* Prepares a bridge without an operation, for a worker that is a process of the caller. Call bridge_end in any case. */
int bridge_open(struct bridge *b, const struct cli *cli, struct err *e);
/*
 * Starts the operation `debug` with these params (stolen) and waits until its worker is there. 0; -1 with e set; or
 * in the child process 1: *code is the command's exit code, which it returns (-1 with e set).
 */
int bridge_start(struct bridge *b, const struct cli *cli, json_t *params, int *code, struct err *e);
/*
 * Where a debugger finds the program's files, for "set sysroot": "/" if the host's files are those that were recorded
 * (then GDB also finds what belongs to them, such as pretty printers), else a folder with the recording's copies.
 * malloc'd; NULL: it must read them through the remote protocol.
 */
char *bridge_sysroot(const struct bridge *b);
/* Tells a bridge that the caller is a child of the process that opened it (by fork). */
void bridge_in_child(struct bridge *b, pid_t parent);
/* After bridge_start has returned 1: is this the process that called it, not the child? */
bool bridge_is_parent(const struct bridge *b);
/*
 * Starts another operation in the place of one whose worker has died or is no longer wanted, as bridge_start: at the
 * session's last stop (stop), or at its last prompt. 0, or -1 with e set.
 */
int bridge_restart(struct bridge *b, bool stop, struct err *e);
/* Handles the signal of a signal_fd that was polled. 1: stop. */
struct pollfd;
int bridge_signalled(struct bridge *b, const struct pollfd *p);
/*
 * Accepts the next connection of a worker that is still running, into b->worker. 0; 1: the user wants to stop; -1 with
 * e set.
 */
int bridge_next(struct bridge *b, struct err *e);
/*
 * Accepts a connection on fd, which stays open. -1: there will be none, since the operation or the process `other` (0:
 * none) has ended; -2: the user wants to stop.
 */
int bridge_accept(struct bridge *b, int fd, pid_t other);
/* Waits until this process has ended, or the user wants to stop. */
void bridge_wait(struct bridge *b, pid_t pid);
/* Copies bytes between fd and the worker until one side closes. Takes both descriptors. 1: the user wants to stop. */
int bridge_copy(struct bridge *b, int fd);
/* Ends the operation. */
void bridge_end(struct bridge *b);

/* A unix socket that listens at DIR/name; its path in path[]. -1 with e set. */
int bridge_listen(const struct bridge *b, const char *name, char path[108], struct err *e);

#endif
