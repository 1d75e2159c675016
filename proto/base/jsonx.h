/* SPDX-License-Identifier: MIT */
/*
 * jsonx.h: small helpers over jansson. The getters name the field that is missing or of the wrong type,
 * with ERR_USAGE: the input is wrong, not fred. They return borrowed references.
 */
#ifndef FRED_BASE_JSONX_H
#define FRED_BASE_JSONX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A new reference, or NULL; "PATH:LINE:COLUMN: what" when it is no JSON. Duplicate keys are refused. */
json_t *json_load_path(const char *path, struct err *e);
json_t *json_parse(const char *text, size_t len, struct err *e);

/* Compact, one line. json_dump_line appends "\n" and writes all with one write. */
int json_dump_line(int fd, const json_t *v, struct err *e);
void json_add_to(struct buf *b, const json_t *v);
/* Indented, with a newline at the end, replaced atomically. */
int json_write_path(const char *path, const json_t *v, mode_t mode, struct err *e);

/* What type a value is, for messages: "an object", "a string", ..., "nothing" for NULL. */
const char *json_type_name(const json_t *v);

/* Fields of an object. 0, or -1 when the field is missing or not of the type. */
int json_get_str(const json_t *o, const char *key, const char **out, struct err *e);
int json_get_i64(const json_t *o, const char *key, int64_t *out, struct err *e);
int json_get_u64(const json_t *o, const char *key, uint64_t *out, struct err *e); /* not negative */
int json_get_bool(const json_t *o, const char *key, bool *out, struct err *e);
int json_get_real(const json_t *o, const char *key, double *out, struct err *e); /* or an integer */
int json_get_obj(const json_t *o, const char *key, json_t **out, struct err *e);
int json_get_arr(const json_t *o, const char *key, json_t **out, struct err *e);

/* As above, but a missing or null field leaves *out as it was. */
int json_opt_str(const json_t *o, const char *key, const char **out, struct err *e);
int json_opt_i64(const json_t *o, const char *key, int64_t *out, struct err *e);
int json_opt_u64(const json_t *o, const char *key, uint64_t *out, struct err *e);
int json_opt_bool(const json_t *o, const char *key, bool *out, struct err *e);
int json_opt_real(const json_t *o, const char *key, double *out, struct err *e);
int json_opt_obj(const json_t *o, const char *key, json_t **out, struct err *e);
int json_opt_arr(const json_t *o, const char *key, json_t **out, struct err *e);

/* A string from bytes that may not be UTF-8: invalid ones become U+FFFD. New reference, never NULL. */
json_t *json_text(const char *s, size_t n);

#endif
