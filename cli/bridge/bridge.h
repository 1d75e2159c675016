/* SPDX-License-Identifier: MIT */
/*
 * bridge.h: a debugger on one side, a worker of the daemon on the other. The worker connects to a socket of ours
 * when it is ready; a child process of ours keeps the daemon's operation alive meanwhile.
 */
#ifndef FRED_BRIDGE_BRIDGE_H
#define FRED_BRIDGE_BRIDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bridge/progress_line.h"

struct bridge {
	char dir[64]; /* private, for sockets */
	pid_t keeper; /* runs the operation; 0: none */
	int worker; /* connected; -1: not yet */
	int signal_fd; /* of signalfd; -1: none */
	/* A signal came: 1 to stop. NULL: every one stops. */
	int (*on_signal)(struct bridge *b, int sig);
	const struct cli *cli; /* borrowed */
	json_t *params; /* of the operation, for another worker */
	pid_t gdb; /* gdb_run.h */
	bool interrupts, ending; /* likewise */
	bool heard; /* a SIGINT, when not to be passed on at once: see relay.h */
	struct progress_line line; /* of what the worker is doing */
	int listener; /* where the worker connects */
	char path[108]; /* the same */
	char host_files[108]; /* made by the worker: see bridge_sysroot */
};

/* Without an operation: for one whose worker is the caller's own. bridge_end in any case. */
int bridge_open(struct bridge *b, const struct cli *cli, struct err *e);
/*
 * Starts the operation `debug` with these params (stolen) and waits until its worker is there. 0; -1 with e set; or
 * in the child process 1: *code is the command's exit code, which it returns (-1 with e set).
 */
int bridge_start(struct bridge *b, const struct cli *cli, json_t *params, int *code, struct err *e);
/*
 * Where a debugger finds the program's files, for "set sysroot": "/" where they are the host's own, as they were (so it also finds what
 * belongs to them: printers of a library's types, for one), else a folder of the recording's copies. malloc'd; NULL: it must ask the other
 * side for them.
 */
char *bridge_sysroot(const struct bridge *b);
/* After bridge_start has given 1: is this the process that called it? */
bool bridge_is_parent(const struct bridge *b);
/*
 * Another operation in the place of one whose worker has died or is not wanted any more: as bridge_start, at the last stop
 * of the session, or at its last prompt. 0, or -1 with e set.
 */
int bridge_restart(struct bridge *b, bool stop, struct err *e);
/* What a signal_fd that was polled says: 1: stop. */
struct pollfd;
int bridge_signalled(struct bridge *b, const struct pollfd *p);
/* The next connection of a worker that stays: into b->worker. 0; 1: the user wants to stop; -1 with e set. */
int bridge_next(struct bridge *b, struct err *e);
/*
 * A connection to fd (which stays open). -1: none any more, the operation or the process `other` (0: none) has ended;
 * -2: the user wants to stop.
 */
int bridge_accept(struct bridge *b, int fd, pid_t other);
/* Until this process has ended, or the user wants to stop. */
void bridge_wait(struct bridge *b, pid_t pid);
/* Copies bytes between fd and the worker until one side closes. Takes both descriptors. 1: the user wants to stop. */
int bridge_copy(struct bridge *b, int fd);
/* Ends the operation. */
void bridge_end(struct bridge *b);

/* A unix socket that listens at DIR/name; its path in path[]. -1 with e set. */
int bridge_listen(const struct bridge *b, const char *name, char path[108], struct err *e);

#endif
