/* SPDX-License-Identifier: MIT */
/*
 * session.h: a debugging session's folder, $FRED_HOME/sessions/ID. What is in it outlives the daemon, its worker, GDB and
 * fredctl:
 *
 *   session.json    recording, process, when it was begun
 *   lock            locked (fcntl) by the fredctl that runs it: the kernel tells who, and lets go when it dies
 *   gdb.json        GDB's own state (gdb/state.py)
 *   position, history, program.json      the worker's (daemon/sessionstate/session_state.h)
 */
#ifndef FRED_BRIDGE_SESSION_H
#define FRED_BRIDGE_SESSION_H

#include <jansson.h>

#include "base/err.h"

struct session {
	char *id, *dir;
	char *state; /* the path of gdb.json */
	int lock; /* -1: none */
};

/* A new one of these params of the method `debug`. session_fini in any case. */
int session_new(struct session *s, const json_t *params, struct err *e);
/* One that is not running, for going on with; NULL: the one that ran last. *params: of `debug`, a new reference. */
int session_resume(struct session *s, const char *id, json_t **params, struct err *e);
void session_fini(struct session *s);
/* Removes the folder of a new one. */
void session_discard(struct session *s);
#define cleanup_session __attribute__((cleanup(session_fini)))

/* The folder of all sessions, malloc'd. */
char *session_folder(struct err *e);
/*
 * All sessions, the one that ran last at the end: [{id, recording, process, state: "running" or "saved", pid (null unless it
 * runs), created, used (seconds since the epoch), event, events_total, pc, bookmarks, checkpoints}]. A new reference or NULL.
 */
json_t *session_list(struct err *e);
/* One of them, by its id; NULL: the one that ran last (`running`: of those that run). A new reference or NULL. */
json_t *session_find(const char *id, int running, struct err *e);
/* Removes one that does not run. */
int session_remove(const char *id, struct err *e);

#endif
