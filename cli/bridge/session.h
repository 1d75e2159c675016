/* SPDX-License-Identifier: MIT */
/*
 * session.h: a debugging session's folder, $FRED_HOME/sessions/ID. What is in it outlives the daemon, its worker, GDB
 * and fredctl:
 *
 *   session.json    recording, process, time of its beginning
 *   lock            locked (fcntl) by the fredctl that runs it: the kernel knows its PID, and unlocks when it dies
 *   gdb.json        GDB's own state (gdb/state.py)
 *   position, history, program.json      the worker's (daemon/sessionstate/session_state.h)
 */
#ifndef FRED_BRIDGE_SESSION_H
#define FRED_BRIDGE_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

struct session {
	char *id, *dir;
	char *state; /* the path of gdb.json */
	int lock; /* -1: none */
};

/* Begins a session. params: of the method `debug`. session_fini in any case. */
int session_new(struct session *s, const json_t *params, struct err *e);
/* Opens a session that is not running, to continue it. id: as for session_find. *params: of `debug`, a new reference.
 */
int session_resume(struct session *s, const char *id, json_t **params, struct err *e);
void session_fini(struct session *s);
/* Removes a new session. */
void session_discard(struct session *s);
#define cleanup_session __attribute__((cleanup(session_fini)))

/* What is known of a session. */
struct session_info {
	char *dir; /* its folder */
	const char *id, *recording; /* in dir, and in about; "": not known */
	pid_t pid; /* of the fredctl that runs it; 0: it does not run */
	time_t used; /* last */
	size_t bookmarks, checkpoints;
	json_t *about, *program; /* session.json; program.json, or NULL */
};
void session_info_fini(struct session_info *s);
#define cleanup_session_info __attribute__((cleanup(session_info_fini)))

struct session_infos {
	struct session_info *v;
	size_t n;
};
/* All sessions, the one that was used last at the end. session_infos_fini if it gives 0. */
int session_list(struct session_infos *out, struct err *e);
void session_infos_fini(struct session_infos *all);
/* A session as `fredctl sessions --json` has it (fredctl(1)). New reference. */
json_t *session_info_json(const struct session_info *s);
/* One by its id; NULL or "latest": the one that was used last. running: only among running sessions. ERR_USAGE: there
 * is none. */
int session_find(const char *id, bool running, struct session_info *out, struct err *e);
/* Removes one that does not run. */
int session_remove(const char *id, struct err *e);

#endif
