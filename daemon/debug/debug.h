/* SPDX-License-Identifier: MIT */
/* debug.h: one debugging session on a recording. */
#ifndef FRED_DEBUG_DEBUG_H
#define FRED_DEBUG_DEBUG_H

#include "base/buf.h"
#include "debug/busy.h"
#include "debug/diversion.h"
#include "debug/lines.h"
#include "debug/range.h"
#include "debug/spoken.h"
#include "debug/watched.h"
#include "rsp/packet.h"
#include "sessionstate/session_state.h"
#include "timetravel/cursor.h"
#include "visibility/thread_list.h"
#include "visibility/unwind_window.h"

struct debug {
	struct rec *rec;
	uint32_t process;
	struct nav nav;
	struct cursor cursor;
	struct diversion diversion;
	struct spoken spoken; /* the output of functions that the debugger called */
	uint64_t stdio; /* address of libc's _IO_2_1_stdout_; 0: not known */
	struct session_state state; /* what outlives this process */
	bool revived; /* processes of the session were killed and replaced, which the user is still to be told */
	struct rsp_conn conn;
	struct busy busy;
	struct unwind_window unwind;
	struct op_ctx op; /* nav.ctx: how its runs are cancelled */
	struct lines lines;
	struct step_range range; /* of the next step */
	bool over; /* ... and the debugger's command steps over calls */
	struct watched watched;
	char *later; /* a command to be run by the next step */
	struct buf said; /* the output of commands since the last prompt, for a user interface that did not get it */
	int killed_by; /* the signal that ended the recorded process; 0: none did */
	int told; /* the signal of the last stop; 0: there was none */
	struct thread_list thread_list; /* threads.h */
	int selected; /* the thread that the user has selected, by the debugger's number; 0: not known */
	bool signalled; /* the last stop was for a signal */
	int signal; /* its number for the debugger */
	bool chooses; /* the debugger has told which signals it delivers */
	int passes; /* the signal that it delivers with this step or continue; 0: none */
	bool jumped; /* a command has moved the program: the debugger is told by its next step */
	bool elsewhere; /* the debugger sees the live program in a call of the recorder's; this process is before it */
};

/* Text for the user, while the debugger waits for an answer. */
void debug_say(struct debug *d, const char *text);
/* The process whose memory the debugger sees. */
pid_t debug_memory(struct debug *d);
/* Ends the diversion: what was written to the copy is lost. */
void debug_end_diversion(struct debug *d);
/*
 * The program is about to move. A recorded program gets the signals that it got: when the debugger wants to drop one,
 * or to deliver another one (`signal 0`, `signal N`, `handle ... nopass`), the user is told that this changes nothing.
 */
void debug_tell_signal(struct debug *d, bool onwards);
/* Goes to a position as the user wrote it. */
int debug_goto(struct debug *d, const char *pos, struct err *e);

#endif
