/* SPDX-License-Identifier: MIT */
/* stop.c: see hunt_int.h: why a hunt stops, and what the user is told meanwhile. */
#include <stdarg.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "hunt/hunt_int.h"

void hunt_stop(struct hunt *h, enum hunt_stop why, bool hurry)
{
	if (!h->stopping)
		h->why = why;
	h->stopping = true;
	h->hurry |= hurry;
}

void hunt_fail(struct hunt *h, const struct err *e)
{
	if (!h->error.kind)
		h->error = *e;
	h->why = HUNT_ERROR;
	h->stopping = h->hurry = true;
}

void hunt_note(const struct hunt *h, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = str_vfmt(fmt, ap);
	va_end(ap);
	h->hooks->note(h->hooks->arg, text);
}
