/* SPDX-License-Identifier: MIT */
/* attach.h: connects to a session's second user interface (second_ui.h); starts the session if it does not run. */
#ifndef FRED_FRONTEND_ATTACH_H
#define FRED_FRONTEND_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "args/args.h"

struct attach {
	char *id; /* the session's number */
	char *dir; /* its folder */
	char *path; /* the socket's */
	pid_t child; /* the fredctl debug that was started; 0: the session ran already */
	int hold; /* the child's standard input: the child runs until this is closed; -1: there is no child */
};

/*
 * id: a session; NULL: the one that runs (the latest, if several do), else the latest. rec: a recording, for a new
 * session instead; or NULL. attach_close in any case.
 */
int attach_open(struct attach *a, const char *id, const char *rec, struct err *e);
/* In the child: reports that the session in this folder accepts connections. false: this process was not started by
 * attach_open. */
bool attach_tell_ready(const char *dir);
/* Ends the child; the session is saved. */
void attach_close(struct attach *a);
/* Runs fred-repl on the session, with these arguments after the socket and the folder. Its exit code, or -1 with e set.
 */
int attach_repl(const struct attach *a, const char *const *more, struct err *e);

#endif
