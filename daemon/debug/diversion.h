/* SPDX-License-Identifier: MIT */
/*
 * diversion.h: a copy of the process off the timeline, in which the debugger may write and call functions. The timeline
 * is not affected: the copy is made at the first write, and dropped when the program moves.
 */
#ifndef FRED_DEBUG_DIVERSION_H
#define FRED_DEBUG_DIVERSION_H

#include "timetravel/cursor.h"

struct diversion {
	struct trace copy; /* of the thread that moved last, alone; pid 0: there is none */
	struct user_regs_struct start;
	bool calls; /* a function was called, and has not returned yet, as far as is known */
	uint64_t entry; /* where the call's return address is: the call's frames are below that */
	bool wrote; /* the debugger wrote something that is not for a call */
	/* the last call's result: memory that the debugger has allocated by it, such as for a string, begins there */
	uint64_t returned;
	int sig; /* to be delivered when it goes on */
	int passed; /* the signal with which it went on, 0: none... */
	uint64_t passed_pc; /* ...from there */
};

bool diversion_is_on(const struct diversion *d);
/* Begins a diversion. Does nothing if there is one already. */
int diversion_begin(struct diversion *d, struct cursor *t, struct err *e);
void diversion_end(struct diversion *d);

/* The debugger writes there. */
int diversion_write(struct diversion *d, uint64_t addr, const void *data, size_t len, struct err *e);
/*
 * Would changes be lost when it ends? elsewhere: the debugger restores the registers of another position after a call.
 */
bool diversion_has_changes(struct diversion *d, bool elsewhere);
/*
 * Is a function being executed that the debugger calls? Then the copy goes on. A call returns to a breakpoint; other
 * changes of registers are no call. After its return, the debugger restores the stack pointer.
 */
int diversion_in_call(struct diversion *d, const struct breaks *b, bool *yes, struct err *e);
/*
 * Goes on, or one instruction, until something happens: STOP_STEP, STOP_BREAK, STOP_SIGNAL, STOP_INTERRUPT; STOP_OVER:
 * the copy has ended, with *status as of waitpid.
 */
int diversion_run(struct diversion *d, struct cursor *t, bool step, struct stop *stop, int *status, struct err *e);

#endif
