/* SPDX-License-Identifier: MIT */
/*
 * bridge.h: a debugger on one side, a worker of the daemon on the other. The worker connects to a socket of ours
 * when it is ready; a child process of ours keeps the daemon's operation alive meanwhile.
 */
#ifndef FRED_CLI_BRIDGE_H
#define FRED_CLI_BRIDGE_H

#include <jansson.h>
#include <sys/types.h>

#include "cli/cmd.h"

struct bridge {
	char dir[64]; /* private, for sockets */
	pid_t keeper; /* runs the operation; 0: none */
	int worker; /* connected; -1: not yet */
};

/*
 * Starts the operation `debug` with these params (stolen) and waits until its worker is there. 0; -1 with e set; or
 * in the child process 1: *code is the command's exit code, which it returns (-1 with e set).
 */
int bridge_start(struct bridge *b, const struct cli *cli, json_t *params, int *code, struct err *e);
/* Copies bytes both ways until one side closes. Takes both descriptors. */
void bridge_copy(int a, int b);
/* Ends the operation. */
void bridge_end(struct bridge *b);

/* A unix socket that listens at DIR/name; its path in path[]. -1 with e set. */
int bridge_listen(const struct bridge *b, const char *name, char path[108], struct err *e);

#endif
