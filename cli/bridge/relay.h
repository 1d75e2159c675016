/* SPDX-License-Identifier: MIT */
/*
 * relay.h: passes GDB's remote protocol between a GDB and a worker. When the worker dies, another one takes its place
 * at the last stop and gets the same settings; GDB only sees that its command was interrupted.
 */
#ifndef FRED_BRIDGE_RELAY_H
#define FRED_BRIDGE_RELAY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "bridge/second_ui.h"

/* A stream that is divided into packets, in either direction. */
struct relay_stream {
	struct buf packet; /* the bytes of the current one, from its $ on */
	unsigned left; /* bytes of its checksum that have not come yet, after its # */
};

struct relay {
	struct bridge *b;
	struct second_ui *second; /* NULL: none */
	int gdb;
	struct relay_stream from_gdb, from_worker;
	struct buf asked; /* the packet that GDB waits for an answer to; empty: none */
	struct strv setup; /* the packets that set up another worker, in order */
	bool leaving; /* GDB has detached from the program or killed it */
	bool prompted; /* GDB has been at its prompt */
	bool at_prompt; /* ... and has not begun another command that moves the program */
	bool no_program; /* it has ended, or could not be started */
	bool stop; /* a signal asks the relay to stop */
	bool interrupted; /* the worker was sent an interrupt, which has neither stopped the program nor been dropped at
			     a prompt */
	bool only; /* there is no other worker */
	unsigned lost; /* how many workers have died since one has answered */
};

/*
 * The terminal sends Ctrl-C to GDB and to this process. GDB 13 loses one that comes while Python handles an event (a
 * library is loaded, a breakpoint is hit). So the relay interrupts the program too, as soon as GDB has resumed it; the
 * worker sees one interrupt. This process may read a signal late. So it takes all pending signals before it looks at a
 * packet of GDB's: those that came at GDB's prompt are dropped, however late it runs. A signal that comes after the
 * packet was sent, but before it is read, is dropped with them; GDB, which waits for the answer by then, passes that
 * one on itself.
 */
void relay_init(struct relay *r, struct bridge *b, struct second_ui *second, int gdb);
void relay_fini(struct relay *r);
/*
 * Runs until GDB closes its side or detaches (0), a signal stops it (1), or no other worker can be started (-1 with e
 * set).
 */
int relay_run(struct relay *r, struct err *e);

#endif
