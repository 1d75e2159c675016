/* SPDX-License-Identifier: MIT */
/*
 * report.h: reports for people and for CI systems. Each kind is made from one object (hunt/groups.h) alone; html also
 * reads the recordings that it names. Begin with report.c, the table of kinds.
 */
#ifndef FRED_REPORT_REPORT_H
#define FRED_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* The names of all kinds, separated by spaces. */
const char *report_kinds(void);
/* Is this KIND=FILE, as --report takes it? ERR_USAGE if not. */
int report_check(const char *text, struct err *e);
/* The same for each of these. json: standard output is for the result, so no FILE may be "-". */
int report_check_all(const struct strv *texts, bool json, struct err *e);
/* Writes the report to FILE ("-": standard output). An existing file is replaced once all is written. */
int report_write(const char *text, const json_t *report, struct err *e);

#endif
