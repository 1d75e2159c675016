/* SPDX-License-Identifier: MIT */
/*
 * mi_parse.h: one line of GDB/MI output to a record. Pure: no I/O, no state, any bytes are accepted
 * as input and either parsed completely or refused.
 */
#ifndef FRED_GDB_MI_PARSE_H
#define FRED_GDB_MI_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gdb/mi_value.h"

#define MI_MAX_DEPTH 100

/* The value is the first character of such a line. */
enum mi_type {
	MI_RESULT = '^',
	MI_EXEC = '*',
	MI_STATUS = '+',
	MI_NOTIFY = '=',
	MI_CONSOLE = '~',
	MI_TARGET = '@',
	MI_LOG = '&',
	MI_PROMPT = '(',
};

struct mi_record {
	enum mi_type type;
	int64_t token; /* -1: none */
	char *klass; /* result and async records: "done", "stopped", ...; else NULL */
	struct mi_value *results; /* the same: a tuple, perhaps empty; else NULL */
	char *text; /* streams: unescaped; else NULL */
	size_t text_len;
};

/*
 * Parses line[0..len), without or with its line end. Returns 0 and a record for mi_record_free, or -1
 * (ERR_INTERNAL: not MI; the message names the offset).
 */
int mi_parse(const char *line, size_t len, struct mi_record **out, struct err *e);
void mi_record_free(struct mi_record *r);

#endif
