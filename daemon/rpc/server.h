/* SPDX-License-Identifier: MIT */
/* server.h: the daemon's RPC server: accepts clients, answers them, runs their operations. */
#ifndef FRED_RPC_SERVER_H
#define FRED_RPC_SERVER_H

#include <stdint.h>

#include "base/err.h"
#include "cell/cell.h"
#include "loop/loop.h"

struct server;
struct op_entry;

struct server_config { /* borrowed; must outlive the server */
	int listen_fd; /* from wire_listen */
	const char *home; /* $FRED_HOME */
	const char *build; /* identifies the executable */
	const struct op_entry *ops; /* what workers run (replay/operation.h), ended by a NULL method */
	const char *log_path; /* opened again by workers; NULL: standard error */
	/* cell_start; tests may use a function that needs no privileges */
	int (*start_cell)(int (*init)(void *arg), void *arg, struct cell *out, struct err *e);
	uint64_t idle_ms; /* stop after this long without clients and operations; 0: never */
};

/* NULL on failure. */
struct server *server_new(struct loop *l, const struct server_config *config, struct err *e);
/* Stops accepting clients, cancels all operations, and stops the loop when their workers are dead. */
void server_stop(struct server *s);
/* Closes all remaining connections; not while operations run. */
void server_free(struct server *s);

#endif
