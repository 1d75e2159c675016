/* SPDX-License-Identifier: MIT */
/* client.h: talks to fredd, starting it if need be. */
#ifndef FRED_CLIENT_CLIENT_H
#define FRED_CLIENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#include "args/args.h"
#include "base/err.h"
#include "client/progress.h"
#include "wire/framing.h"
#include "wire/message.h"

struct client {
	int fd; /* -1: not connected */
	struct wire_frame in;
	json_int_t next_id;
	const struct cli *cli;
	/*
	 * Gets what an operation writes to descriptor 1. NULL: it goes to standard output, or is dropped with --json.
	 */
	void (*output)(void *ctx, const char *data, size_t len);
	void *ctx;
};

enum client_open { CLIENT_START, CLIENT_ONLY_RUNNING };

/*
 * Connects. With CLIENT_START, a daemon is started if none runs; a daemon of another build is replaced if it is idle.
 * With CLIENT_ONLY_RUNNING c->fd stays -1 when there is none. Close in any case.
 */
int client_open(struct client *c, const struct cli *cli, enum client_open how, struct err *e);
void client_close(struct client *c);
/*
 * Calls a method; params (stolen) may be NULL. Shows its progress, prints its output. Ctrl-C cancels it, a
 * second Ctrl-C stops waiting. 0 and *result (a new reference), or -1 with the daemon's error.
 */
int client_call(struct client *c, const char *method, json_t *params, json_t **result, struct err *e);
/* client_open, client_call and client_close. */
int client_run(const struct cli *cli, const char *method, json_t *params, json_t **result, struct err *e);
/* Prints a result: as JSON, or its notes and then what print prints. 0, or -1 with e set. */
int client_show(const struct cli *cli, const json_t *result, void (*print)(const struct cli *cli, const json_t *result),
		struct err *e);
/*
 * client_run and client_show. params: NULL if they could not be made (then -1). Returns the exit code: 1 if `verdict`
 * is not NULL and that field of the result is not true, else 0; or -1 with e set.
 */
int client_print(const struct cli *cli, const char *method, json_t *params,
		 void (*print)(const struct cli *cli, const json_t *result), const char *verdict, struct err *e);
/* Waits until the daemon has closed the connection. */
void client_wait_close(struct client *c);

/* spawn.c: connects as wire_connect does, but starts a daemon when none listens. */
int spawn_connect(const char *home, struct err *e);
/* The build ID of the installed fredd, as its answer to `hello` would have it; malloc'd, NULL if it is not found. */
char *spawn_build_id(void);

#endif
