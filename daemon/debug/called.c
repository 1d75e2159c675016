/* SPDX-License-Identifier: MIT */
/* called.c: see called.h. */
#include "debug/called.h"

static void say_spoken(struct debug *d)
{
	cleanup_buf struct buf text = {0};
	struct err ignored;

	spoken_take(&d->spoken, d->stdio, &text);
	rsp_say(&d->conn, text.data, text.len, &ignored);
}

int called_run(struct debug *d, bool step, struct stop *stop, struct err *e)
{
	int status = 0, r;
	struct err why;

	if (!d->diversion.calls && spoken_begin(&d->spoken, &d->diversion.copy, d->stdio, &why)) {
		debug_say(d, "fred: the function's output is not shown: ");
		debug_say(d, why.text);
		debug_say(d, "\n");
	}
	r = diversion_run(&d->diversion, &d->cursor, step, stop, &status, e);
	say_spoken(d);
	if (r)
		return -1;
	if (stop->kind != STOP_OVER)
		return 0;
	diversion_end(&d->diversion);
	debug_say(d, "fred: the called function ended the program; the position in the recording is unchanged\n");
	return 0;
}
