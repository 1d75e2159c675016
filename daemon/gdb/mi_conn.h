/* SPDX-License-Identifier: MIT */
/*
 * mi_conn.h: a GDB process and its GDB/MI over pipes, one command at a time. Synchronous, each command with a deadline.
 * GDB has no terminal: it has a session of its own, and pipes for all three streams. A command that exceeds its
 * deadline is interrupted (SIGINT); if GDB does not answer that either, it is killed. After GDB's death every call
 * fails and says what it died of.
 */
#ifndef FRED_GDB_MI_CONN_H
#define FRED_GDB_MI_CONN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "gdb/mi_parse.h"

struct mi_conn;

/* What GDB said until the result record of a command. `struct mi_reply r = {0}`, then mi_reply_fini. */
struct mi_reply {
	struct mi_record *result; /* the ^ record; borrowed lookups: mi_str(r.result->results, ...) */
	struct buf console; /* ~ streams, joined */
	struct buf log; /* & streams and lines that are not MI */
	struct mi_record **async; /* * + = records in order, from the last result on */
	size_t async_n;
};

/*
 * Starts argv[0] (searched in PATH) with these arguments, waits for its first prompt. argv must ask for
 * --interpreter=mi3. ERR_HOST: there is no such program or it is no GDB.
 */
struct mi_conn *mi_conn_new(char *const argv[], int timeout_ms, struct err *e);
/* Kills GDB (a traced program is let go by the kernel) and reaps it. Takes NULL. */
void mi_conn_free(struct mi_conn *c);

/* Why no command can be sent any more; NULL: it can. */
const char *mi_conn_dead(const struct mi_conn *c);

/*
 * Sends cmd (one line, no token, no newline) and reads until its result.
 *  0: ^done, ^running, ^connected or ^exit
 *  1: ^error: GDB refused; its message is mi_reply_error(r)
 * -1: ERR_TIMEOUT: the deadline passed (GDB was interrupted or killed: mi_conn_dead); ERR_INTERNAL: GDB
 *     died or talks nonsense.
 */
int mi_conn_cmd(struct mi_conn *c, const char *cmd, int timeout_ms, struct mi_reply *r, struct err *e);
/*
 * Sets a function that is called from time to time while GDB has not answered a command; NULL: none. It must not send
 * anything to GDB. If it returns true, the command's time begins anew: what GDB waits for has a limit of its own, which
 * has come nearer.
 */
void mi_conn_tick(struct mi_conn *c, bool (*tick)(void *ctx), void *ctx);
/*
 * Reads until an exec record of this class ("stopped") has come, unless r->async already holds one.
 * *out is borrowed from r. Returns 0 or -1 as above; a missed deadline kills nothing here.
 */
int mi_conn_wait(struct mi_conn *c, const char *klass, int timeout_ms, struct mi_reply *r, const struct mi_record **out,
		 struct err *e);

/* GDB's message of an ^error; "" if there is none. Borrowed from r. */
const char *mi_reply_error(const struct mi_reply *r);
void mi_reply_fini(struct mi_reply *r);
#define cleanup_mi_reply __attribute__((cleanup(mi_reply_fini)))

#endif
