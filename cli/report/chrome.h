/* SPDX-License-Identifier: MIT */
/*
 * chrome.h: calls as a file in the Trace Event Format (JSON array format), which Chrome's tracing page and Perfetto
 * open: a track for each thread, with the time at which each event was recorded; what is between two events of a thread
 * is spread over the time between them by the number of instructions.
 */
#ifndef FRED_REPORT_CHROME_H
#define FRED_REPORT_CHROME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct chrome {
	FILE *f;
	const char *path; /* borrowed */
	json_t *kept; /* rows of the segment that has not ended */
	json_t *threads; /* {id: {open: calls that have not returned, ts: of the last row}} */
	bool any;
};

/* Begins the file. chrome_close in any case. */
int chrome_open(struct chrome *c, const char *path, struct err *e);
/* A row of fredctl trace --calls. */
void chrome_row(struct chrome *c, const json_t *row);
/* Ends calls that have not returned, and the file. */
int chrome_close(struct chrome *c, struct err *e);

#endif
