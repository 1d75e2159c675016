/* SPDX-License-Identifier: MIT */
/* summary.h: the parts of the results that all checks have, besides their findings. */
#ifndef FRED_INSTRUMENT_SUMMARY_H
#define FRED_INSTRUMENT_SUMMARY_H

#include "instrument/instrument.h"
#include "instrument/moments.h"

/*
 * Adds to the result r of a check: the notes of d, one if not all accesses were examined ("ERRORS there
 * are not reported"), and "stats", borrowed, for the check to add its own. since: when it began (clock_s).
 */
json_t *summary_add(json_t *r, const struct instrument *i, struct nav *nav, const struct moment_describer *d,
		    const char *errors, double since);

#endif
