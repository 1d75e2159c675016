/* SPDX-License-Identifier: MIT */
/* attach.h: a connection to a session's second user interface (second_ui.h): of one that runs, or that is started for it. */
#ifndef FRED_FRONTEND_ATTACH_H
#define FRED_FRONTEND_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "args/args.h"

struct attach {
	char *id; /* the session's */
	char *dir; /* its folder */
	char *path; /* the socket's */
	pid_t child; /* a fredctl debug of ours; 0: it runs elsewhere */
	int hold; /* the child runs until this is closed; -1 */
};

/*
 * id: a session; NULL: the one that runs (and ran last), else the one that ran last. rec: a recording for a new session;
 * NULL: none. attach_close in any case.
 */
int attach_open(struct attach *a, const char *id, const char *rec, struct err *e);
/* For the child: the session in this folder can be connected to. false: this is nobody's child. */
bool attach_tell_ready(const char *dir);
/* Ends the child; the session is saved. */
void attach_close(struct attach *a);
/* What `fredctl repl` becomes, with these arguments behind the socket's path: it runs commands and returns its exit code. */
int attach_repl(const struct attach *a, const char *const *more, struct err *e);

#endif
