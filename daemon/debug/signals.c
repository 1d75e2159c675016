/* SPDX-License-Identifier: MIT */
/* signals.c: see debug.h: signals that the debugger delivers or drops. */
#include "debug/debug.h"

void debug_tell_signal(struct debug *d, bool onwards)
{
	if (!onwards || d->later || d->jumped || diversion_is_on(&d->diversion))
		;
	else if (d->signalled && d->chooses && !d->passes)
		debug_say(d, "fred: the recorded program got this signal, and gets it here: a recording cannot be changed\n");
	else if (d->passes && (!d->signalled || d->passes != d->signal))
		debug_say(d, "fred: the recorded program did not get this signal here, and goes on as it did: a recording cannot be changed\n");
	d->passes = 0;
}
