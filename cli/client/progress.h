/* SPDX-License-Identifier: MIT */
/* progress.h: one line on standard error that says how far an operation is, if that is a terminal. */
#ifndef FRED_CLIENT_PROGRESS_H
#define FRED_CLIENT_PROGRESS_H

#include <stdbool.h>

#include "args/args.h"

struct progress {
	bool on;
	bool drawn;
	char text[80];
};

/* Off with -q and when standard error is no terminal. */
void progress_init(struct progress *p, const struct cli *cli);
/* fraction in [0, 1], or negative: unknown. text NULL: as before. */
void progress_draw(struct progress *p, double fraction, const char *text);
/* Removes the line, before something else is printed. */
void progress_clear(struct progress *p);

#endif
