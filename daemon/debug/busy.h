/* SPDX-License-Identifier: MIT */
/*
 * busy.h: commands that take long. Code that may take long calls busy_beat repeatedly, which shows progress and returns
 * whether the user wants the command to end. After Ctrl-C the program goes back to its position before the command. If
 * that takes long, too, the program is left at a checkpoint before that position, and a message says so.
 *
 * Progress is sent as a notification of the remote protocol, %fred:HEX, where HEX is "FRACTION;TEXT" in hexadecimal
 * (FRACTION from 0 to 1): first when the command has run for a second, and then several times a second. It is not
 * sent as text for the console (`O` packets), which GDB would put into MI's records and into pipes. fredctl takes these
 * notifications out of the stream and displays them (cli/bridge/progress_line.h). None are sent if fredctl has no
 * terminal; a GDB that got one would ignore it.
 */
#ifndef FRED_DEBUG_BUSY_H
#define FRED_DEBUG_BUSY_H

#include <stdbool.h>

#include "base/err.h"
#include "timetravel/mark.h"

#define BUSY_NOTE "fred:"

struct debug;

struct busy {
	bool shown; /* the client draws it */
	bool resumed; /* the debugger has resumed the program and waits for a stop, so the program may stop elsewhere */
	bool stop; /* the user wants it to end */
	bool deaf; /* interrupts are ignored, since the command ends soon */
	double since, said; /* by clock_s */
	double until; /* when to give up the way back; 0: never */
	bool known; /* all of from is */
	struct mark from; /* where the command began */
};

/* To be called before d's process is moved for a debugger. shown: the client displays progress. */
void busy_init(struct debug *d, bool shown);
/* A command begins here. */
void busy_begin(struct debug *d, bool resumed);
/* Is the command to end, with ERR_CANCELLED? arg: struct debug. */
bool busy_is_over(void *arg);
/* As busy_is_over; also shows how far the program is. */
bool busy_beat(void *arg);
void busy_show(struct debug *d, double fraction, const char *text);
/*
 * After a command that has failed with e: brings the program back to where it stood before, or near to there. 0: the
 * user or a SIGKILL ended the command; -1: it failed for another reason.
 */
int busy_return(struct debug *d, const struct err *e);

#endif
