/* SPDX-License-Identifier: MIT */
/* debug.c: see debug.h. */
#include "debug/debug.h"

#include <string.h>

void debug_say(struct debug *d, const char *text)
{
	struct err ignored;

	rsp_say(&d->conn, text, strlen(text), &ignored);
}

void debug_end_diversion(struct debug *d)
{
	if (diversion_has_changes(&d->diversion, d->elsewhere))
		debug_say(d, "fred: what was written is discarded: a recording cannot be changed\n");
	diversion_end(&d->diversion);
}

void debug_tell_signal(struct debug *d, bool onwards)
{
	if (!onwards || d->later || d->jumped || diversion_is_on(&d->diversion))
		;
	else if (d->signalled && d->chooses && !d->passes)
		debug_say(d, "fred: the recorded program received this signal here, and receives it now: a recording "
			     "cannot be changed\n");
	else if (d->passes && (!d->signalled || d->passes != d->signal))
		debug_say(d, "fred: the recorded program did not receive this signal here, and continues without it: a "
			     "recording cannot be changed\n");
	d->passes = 0;
}

pid_t debug_memory(struct debug *d)
{
	return diversion_is_on(&d->diversion) ? d->diversion.copy.pid : cursor_memory(&d->cursor);
}
