/* SPDX-License-Identifier: MIT */
/* findings.h: what `fredctl check` found in a recording, as an object for reports: each finding is a group. */
#ifndef FRED_REPORT_FINDINGS_H
#define FRED_REPORT_FINDINGS_H

#include <jansson.h>

#include "base/err.h"

/*
 * dir: the recording; what: "memory" or "races"; result: what the check has said. The report and each group have
 * `check`, which is `what`. New reference; NULL: it is no recording that can be used.
 */
json_t *findings_report(const char *dir, const char *what, const json_t *result, struct err *e);

#endif
