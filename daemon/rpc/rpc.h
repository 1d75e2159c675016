/* SPDX-License-Identifier: MIT */
/*
 * rpc.h: the parts of the RPC server, shared by its files: conn.c, worker.c below operation.c, stop.c,
 * dispatch.c, server.c on top. Others include server.h.
 *
 * Ownership: a connection is freed in its own event callback or by server_free only, an operation when its worker was
 * reaped; so either may use the other freely inside a callback. Sending never fails: an error of a socket shows in its
 * next event.
 */
#ifndef FRED_RPC_RPC_H
#define FRED_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "cell/cell.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "rpc/server.h"
#include "wire/framing.h"
#include "wire/methods.h"

#define RPC_MAX_CONNS 200
#define RPC_MAX_OPERATIONS 32
/* While a client has this many bytes left to read, neither it nor its operations are read from. */
#define RPC_OUT_HIGH ((size_t)1 << 20)

struct conn {
	LIST_ENTRY(conn) link;
	struct loop_source source;
	struct server *server;
	struct wire_frame in;
	struct buf out;
	size_t operations; /* operations whose answers this client gets */
	bool eof; /* the client has ended its side */
	bool closing; /* close when all is sent */
	bool paused; /* lines or operations wait until it is no longer full */
};
LIST_HEAD(conn_list, conn);

struct operation {
	LIST_ENTRY(operation) link;
	struct server *server;
	struct conn *conn; /* NULL: the client has gone */
	uint64_t id;
	const struct wire_method *method;
	json_t *request_id;
	json_t *params;
	struct loop_child child;
	int end_signal; /* the signal that ends it */
	char dir[CELL_DIR_SIZE]; /* the folder of its cell (cell_remove_dir), or "" */
	struct loop_source pipe;
	struct wire_frame in;
	json_t *final; /* the worker's last line */
	bool cancelled;
	bool garbled; /* the worker wrote something else than operation.h says */
	uint64_t started_ms;
	double fraction;
	json_t *text;
};
LIST_HEAD(operation_list, operation);

/* Calls from the lower files to the upper ones. */
struct server_events {
	void (*line)(struct conn *c, const char *line, size_t len); /* a client has sent a line */
	void (*drained)(struct conn *c); /* the connection is no longer full */
	void (*conn_gone)(struct conn *c); /* c is off the list of connections, and about to be freed */
	void (*operation_gone)(struct server *s);
};

struct server {
	const struct server_events *on;
	struct loop *loop;
	struct server_config config;
	struct loop_source listener;
	struct loop_timer idle;
	struct conn_list conns;
	struct operation_list operations;
	size_t conn_count, operation_count;
	uint64_t next_operation, started_ms;
	bool stopping;
};

/* conn.c */
/* Takes fd over. */
int conn_new(struct server *s, int fd, struct err *e);
void conn_free(struct conn *c);
/* Steals msg. */
void conn_send(struct conn *c, json_t *msg);
bool conn_is_full(const struct conn *c);
/*
 * An operation of the connection has ended. Closes nothing itself, but asks for the event that does, if this was the
 * last one.
 */
void conn_wake(struct conn *c);
/* Sends as much as the socket takes at once. */
void conn_flush(struct conn *c);

/* dispatch.c: one line from a client. */
void rpc_dispatch(struct conn *c, const char *line, size_t len);

/* operation.c */
/* Starts a worker that will answer request `id` of c. params may be NULL. */
int operation_start(struct conn *c, const struct wire_method *m, json_t *id, json_t *params, struct err *e);
/* Kills the worker; the answer follows when it is dead. */
void operation_cancel(struct operation *op);
/* Cancels the operations of c, which has gone. */
void operation_orphan_all(struct conn *c);
/* Reads again from the workers of c, which is no longer full. */
void operation_resume_all(struct conn *c);
json_t *operation_describe(const struct operation *op);

/* worker.c */
/* Forks the worker of op; the cell and *fd (the reading end of its pipe, non-blocking) are the caller's. */
int worker_start(const struct operation *op, struct cell *cell, int *fd, struct err *e);

/* stop.c; server_stop is in server.h. */
/* Starts the idle timer, or stops it while there are clients or operations. */
void stop_arm_idle(struct server *s);
void stop_idle_fired(struct loop_timer *t);
void stop_operation_gone(struct server *s);

#endif
