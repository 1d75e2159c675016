/* SPDX-License-Identifier: MIT */
/*
 * second_ui.h: a second user interface of a session's GDB, in GDB/MI on a pseudo terminal (GDB's new-ui), for clients
 * of a socket: fredctl repl, checkpoint, restart. One client at a time. Its bytes go to GDB, but for byte 3 (Ctrl-C),
 * which interrupts the program.
 */
#ifndef FRED_BRIDGE_SECOND_UI_H
#define FRED_BRIDGE_SECOND_UI_H

#include <poll.h>

#include "bridge/bridge.h"

#define SECOND_UI_FDS 3

struct second_ui {
	int master, slave; /* of the terminal; the slave stays open, for a GDB that replaces another */
	char tty[64];
	int listener, client;
	char path[108]; /* of the socket */
	char *link; /* the file of the session's folder that names it */
};

/* The file in a session's folder that holds the path of its socket. */
#define SECOND_LINK "control"

/* second_ui_close in any case. */
int second_ui_open(struct second_ui *s, const struct bridge *b, const char *session_dir, struct err *e);
void second_ui_close(struct second_ui *s);
void second_ui_poll(const struct second_ui *s, struct pollfd p[SECOND_UI_FDS]);
/* worker: receives interrupts. */
void second_ui_handle(struct second_ui *s, const struct pollfd p[SECOND_UI_FDS], int worker);

#endif
