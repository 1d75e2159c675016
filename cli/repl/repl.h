/* SPDX-License-Identifier: MIT */
/*
 * repl.h: fred-repl SOCKET FOLDER [--quiet COMMAND...]: a prompt on a session's GDB, by its second user interface,
 * which speaks GDB/MI; with commands, these and no prompt. What `fredctl repl` becomes.
 */
#ifndef FRED_CLI_REPL_H
#define FRED_CLI_REPL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "gdb/mi_parse.h"

struct link {
	int fd;
	struct buf in;
	int64_t token;
	bool running; /* the program runs */
	char *file; /* the source file of the last stop, if it was not shown yet; else NULL */
	int line;
	int quiet; /* only errors are printed */
};

int link_open(struct link *l, const char *path, struct err *e);
void link_close(struct link *l);
/*
 * Runs a GDB command, and prints its output until the program has stopped again. Ctrl-C meanwhile interrupts the
 * program. 0; 1: GDB refused the command, and has said why; -1 with e set: the session has ended.
 */
int link_command(struct link *l, const char *command, struct err *e);
/* The completions of a line, one each. */
int link_complete(struct link *l, const char *text, struct strv *out, struct err *e);
/* Handles what GDB has sent without a command. */
int link_hear(struct link *l, struct err *e);

/* Prints the lines around a place, and marks that one; prints nothing when there is no such file. */
void source_show(const char *path, int line);

#endif
