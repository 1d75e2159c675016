/* SPDX-License-Identifier: MIT */
/*
 * diversion.h: a copy of the process off the timeline, in which the debugger may write and call functions. History is
 * not concerned: the copy is made at the first write and thrown away when the program moves.
 */
#ifndef FRED_DEBUG_DIVERSION_H
#define FRED_DEBUG_DIVERSION_H

#include "timetravel/cursor.h"

struct diversion {
	struct trace copy; /* of the thread that moved last, alone; pid 0: there is none */
	struct user_regs_struct start;
	bool calls; /* a function was called, and has not returned yet, as far as is known */
	uint64_t entry; /* where its return address is: its frames are below that */
	bool wrote; /* the debugger wrote what is not for a call */
	uint64_t returned; /* by the last call: memory that the debugger asked for, as for a string, begins there */
	int sig; /* to be delivered when it goes on */
	int passed; /* it went on with this one, 0: none... */
	uint64_t passed_pc; /* ...from there */
};

bool diversion_is_on(const struct diversion *d);
/* Begins a diversion. Does nothing if there is one already. */
int diversion_begin(struct diversion *d, struct cursor *t, struct err *e);
void diversion_end(struct diversion *d);

/* The debugger writes there. */
int diversion_write(struct diversion *d, uint64_t addr, const void *data, size_t len, struct err *e);
/* Will anything be missed when it ends? elsewhere: the debugger puts registers of another place back after a call. */
bool diversion_has_changes(struct diversion *d, bool elsewhere);
/*
 * Is it within a function that the debugger calls? Then it is the copy that goes on. A call returns to a breakpoint;
 * other changes of registers are none. When it has returned, the debugger puts back the stack pointer that was before.
 */
int diversion_in_call(struct diversion *d, const struct breaks *b, bool *yes, struct err *e);
/*
 * Goes on, or one instruction, until something happens: STOP_STEP, STOP_BREAK, STOP_SIGNAL, STOP_INTERRUPT; STOP_OVER:
 * the copy has ended, with *status as of waitpid.
 */
int diversion_run(struct diversion *d, struct cursor *t, bool step, struct stop *stop, int *status, struct err *e);

#endif
