/* SPDX-License-Identifier: MIT */
/* out.h: what fredctl prints. Results go to standard output, everything else to standard error. */
#ifndef FRED_CLIENT_OUT_H
#define FRED_CLIENT_OUT_H

#include <jansson.h>
#include <stdbool.h>

#include "args/args.h"
#include "base/err.h"

/* Colour names for out_color. */
enum out_style { OUT_PLAIN, OUT_BOLD, OUT_RED, OUT_GREEN, OUT_YELLOW };

/* The escape sequence, or "" unless standard output is a terminal and NO_COLOR is unset or empty. */
const char *out_style(enum out_style s);

/* Prints v as one line of JSON. -1 when standard output cannot be written. */
int out_json(const json_t *v, struct err *e);
/* "fred: text" on standard error; with --json also {"error": {kind, text, exit_code}} as the result. */
void out_error(const struct cli *cli, const struct err *e, int exit_code);
/* "fred: ..." on standard error, unless -q. */
void out_note(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says what has failed although the command continues; also with --quiet. */
void out_failure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Flushes standard output; -1 when something that was printed got lost (full disk, closed pipe). */
int out_finish(struct err *e);

/* Fields of an object with defaults, for the text printers. Borrowed. */
const char *out_str(const json_t *o, const char *key, const char *fallback);
json_int_t out_int(const json_t *o, const char *key);
double out_real(const json_t *o, const char *key);

/* "1.2 GB"; into buf, which is returned. */
const char *out_bytes(unsigned long long n, char buf[32]);

#endif
