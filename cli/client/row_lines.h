/* SPDX-License-Identifier: MIT */
/* row_lines.h: calls of methods whose output is rows: JSON objects, one on each line (daemon/executed/rows.h). */
#ifndef FRED_CLIENT_ROW_LINES_H
#define FRED_CLIENT_ROW_LINES_H

#include <jansson.h>

#include "args/args.h"
#include "base/buf.h"
#include "base/err.h"

struct row_lines {
	void (*row)(void *ctx, const json_t *row);
	void *ctx;
	bool json; /* each row is printed as it is, too */
	struct buf rest; /* the beginning of an incomplete row; used internally */
};

/* client_run, with rows; params: stolen. */
int row_lines_call(struct row_lines *r, const struct cli *cli, const char *method, json_t *params, json_t **result,
		   struct err *e);

#endif
