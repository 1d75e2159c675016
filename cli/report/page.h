/* SPDX-License-Identifier: MIT */
/* page.h: the report of one recording: the result of a search in it, shown as if it were the only run of a hunt. */
#ifndef FRED_REPORT_PAGE_H
#define FRED_REPORT_PAGE_H

#include <jansson.h>

#include "base/err.h"

/* rec: absolute. expr: for reverse-watch; NULL: what explain finds. New reference; NULL: it is no recording that can be
 * used. */
json_t *page_of_recording(const char *rec, const char *expr, struct err *e);

#endif
