/* SPDX-License-Identifier: MIT */
/* kinds.h: the kinds of reports (text.c, ci.c, html.c). Each function appends the report to out. */
#ifndef FRED_REPORT_KINDS_H
#define FRED_REPORT_KINDS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

int report_text(struct buf *out, const json_t *report, struct err *e);
int report_markdown(struct buf *out, const json_t *report, struct err *e);
int report_junit(struct buf *out, const json_t *report, struct err *e);
int report_sarif(struct buf *out, const json_t *report, struct err *e);
int report_github(struct buf *out, const json_t *report, struct err *e);
int report_html(struct buf *out, const json_t *report, struct err *e);

#endif
