/* SPDX-License-Identifier: MIT */
/*
 * relay.h: GDB's remote protocol between a GDB and a worker that may die: another one takes its place, at the last stop, and
 * is told what the first one was; GDB only sees that its command was interrupted.
 */
#ifndef FRED_BRIDGE_RELAY_H
#define FRED_BRIDGE_RELAY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "bridge/second_ui.h"

/* A stream that is cut into packets, both ways the same. */
struct relay_stream {
	struct buf packet; /* what came of the one under way, from its $ on */
	unsigned left; /* bytes of its checksum to come, when its # has come */
};

struct relay {
	struct bridge *b;
	struct second_ui *second; /* NULL: none */
	int gdb;
	struct relay_stream from_gdb, from_worker;
	struct buf asked; /* the packet that GDB waits for an answer to; empty: none */
	struct strv setup; /* the packets that another worker has to be told, in order */
	bool leaving; /* GDB has said that it goes */
	bool prompted; /* GDB was at its prompt */
	bool at_prompt; /* ... and has not begun another command that moves the program */
	bool interrupted; /* the program, since GDB has resumed it */
	bool only; /* there is no other worker */
	unsigned lost; /* workers, since one has answered */
};

/*
 * A Ctrl-C goes to GDB and to us. GDB 13 loses it where it comes while Python looks at an event: a library is loaded, a breakpoint is hit. So
 * the program is interrupted from here too, as soon as GDB has resumed it; the worker sees one interrupt.
 */
void relay_init(struct relay *r, struct bridge *b, struct second_ui *second, int gdb);
void relay_fini(struct relay *r);
/* Until GDB closes its side or says that it goes (0), the user wants to stop (1), or no worker comes any more (-1 with e set). */
int relay_run(struct relay *r, struct err *e);

#endif
