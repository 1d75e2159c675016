/* SPDX-License-Identifier: MIT */
/* rows.h: rows of a list that is too long for a result: each an object of JSON on a line of output. */
#ifndef FRED_EXECUTED_ROWS_H
#define FRED_EXECUTED_ROWS_H

#include "base/buf.h"
#include "executed/places.h"
#include "replay/operation.h"

struct rows {
	struct op_ctx *ctx;
	struct buf b;
	uint64_t n;
};

/* Steals row. */
void rows_add(struct rows *r, json_t *row);
/* Sends the rows that have been held back. */
void rows_flush(struct rows *r);
void rows_fini(struct rows *r);

/* "EVENT/0xPC#HITS", or "EVENT". New reference. */
json_t *rows_point(const struct timeline_point *p);
/* Adds function, file, line: null where they are unknown. */
void rows_place(json_t *row, const struct code_place *p);

#endif
