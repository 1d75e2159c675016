/* SPDX-License-Identifier: MIT */
/* debug.h: one debugging session on a recording. */
#ifndef FRED_DEBUG_DEBUG_H
#define FRED_DEBUG_DEBUG_H

#include "base/buf.h"
#include "debug/behind.h"
#include "debug/busy.h"
#include "debug/divert.h"
#include "debug/lines.h"
#include "debug/past.h"
#include "debug/places.h"
#include "debug/travel.h"
#include "rsp/packet.h"

struct debug {
	struct rec *rec;
	uint32_t process;
	struct nav nav;
	struct travel travel;
	struct divert divert;
	struct places places; /* bookmarks */
	struct places ckpts;
	struct past past;
	struct keep_slot *slots; /* keep.h; NULL: no folder */
	char *program; /* keep.h: the file */
	bool inexact; /* it does not stand quite where it stood: to be told */
	struct rsp_conn conn;
	struct busy busy;
	struct behind behind;
	struct op_ctx op; /* of nav */
	struct lines lines;
	char *later; /* a command to be run by the next step */
	struct buf said; /* what commands have said since the last prompt: for a user interface that was not told */
	int killed_by; /* the signal that ended the recorded process; 0: none did */
	int told; /* the signal that the last stop was for */
	int selected; /* the thread that the user looks at; 0: not known */
	bool signalled; /* the last stop was for a signal */
	bool chooses; /* the debugger says which signals pass */
	bool passes; /* it lets it have the last one */
	bool jumped; /* it stands elsewhere than the debugger knows */
};

/* Text for the user, while the debugger waits for an answer. */
void debug_say(struct debug *d, const char *text);
/* What was written to the copy is forgotten. */
void debug_end_diversion(struct debug *d);
/* To a position as the user wrote it. */
int debug_goto(struct debug *d, const char *pos, struct err *e);

#endif
