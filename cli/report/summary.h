/* SPDX-License-Identifier: MIT */
/* summary.h: the phrases that several kinds of reports use. */
#ifndef FRED_REPORT_SUMMARY_H
#define FRED_REPORT_SUMMARY_H

#include <stdbool.h>

#include <jansson.h>

/* A string of an object, or "". */
const char *report_str(const json_t *o, const char *key);
long long report_int(const json_t *o, const char *key);
/* Is it a report, or a group of one, of what `fredctl check` found in one recording? */
bool report_is_check(const json_t *o);
/* How the runs of a group failed, on one line. malloc'd. */
char *report_title(const json_t *group);
/* "3 of 500 runs (0.6 %)"; of a check: "5 times"; malloc'd. */
char *report_rate(const json_t *group, const json_t *report);
/* "./program arg"; malloc'd. */
char *report_program(const json_t *report);
/* "500 runs: 3 failed, ..."; malloc'd. */
char *report_summary(const json_t *report);
/* "function at file:line"; malloc'd; NULL when it names no function. */
char *report_place(const json_t *location);

#endif
