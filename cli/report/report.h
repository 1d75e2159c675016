/* SPDX-License-Identifier: MIT */
/*
 * report.h: the kinds of reports. All are made from the one object (groups.h), and know nothing else but the recordings that
 * it names (html).
 */
#ifndef FRED_REPORT_REPORT_H
#define FRED_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* The names of all kinds, separated by spaces. */
const char *report_kinds(void);
/* "KIND=FILE" as of --report: ERR_USAGE unless it is one. */
int report_check(const char *text, struct err *e);
/* Writes it; "-" is standard output. A file that exists is replaced when all is written. */
int report_write(const char *text, const json_t *report, struct err *e);

/* ---- for the kinds ---- */

/* report_text.c, report_ci.c, html.c: append to out. */
int report_text(struct buf *out, const json_t *report, struct err *e);
int report_markdown(struct buf *out, const json_t *report, struct err *e);
int report_junit(struct buf *out, const json_t *report, struct err *e);
int report_sarif(struct buf *out, const json_t *report, struct err *e);
int report_github(struct buf *out, const json_t *report, struct err *e);
int report_html(struct buf *out, const json_t *report, struct err *e);

/* A string of an object, or "". */
const char *report_str(const json_t *o, const char *key);
long long report_int(const json_t *o, const char *key);
/* What a group is, on one line. malloc'd. */
char *report_title(const json_t *group);
/* "3 of 500 runs (0.6 %)"; malloc'd. */
char *report_rate(const json_t *group, const json_t *report);
/* "./program arg"; malloc'd. */
char *report_program(const json_t *report);
/* "500 runs: 3 failed, ..."; malloc'd. */
char *report_summary(const json_t *report);
/* "function at file:line"; malloc'd; NULL when it names no function. */
char *report_place(const json_t *location);

#endif
