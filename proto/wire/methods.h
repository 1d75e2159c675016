/* SPDX-License-Identifier: MIT */
/* methods.h: the table of RPC methods (methods.def) and the check of parameters against it. */
#ifndef FRED_WIRE_METHODS_H
#define FRED_WIRE_METHODS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* Raised when an older client or daemon would misread a message. */
#define WIRE_PROTOCOL 1

enum wire_mode { WIRE_QUICK, WIRE_OP };
enum wire_type { WIRE_ANY, WIRE_STRING, WIRE_INT, WIRE_BOOL, WIRE_STRINGS };

struct wire_param {
	const char *method, *name, *text;
	enum wire_type type;
	int required;
};

struct wire_method {
	const char *name, *result, *text;
	enum wire_mode mode;
};

/* The method of that name, or NULL. Borrowed from a constant table. */
const struct wire_method *wire_method_find(const char *name);
/* The i-th parameter of a method, NULL past the last. */
const struct wire_param *wire_param_at(const struct wire_method *m, size_t i);
const char *wire_type_name(enum wire_type t);
/*
 * Do params (an object, or NULL for none) fit m: all required ones, no unknown ones, right types? ERR_USAGE naming the
 * parameter if not.
 */
int wire_params_check(const struct wire_method *m, const json_t *params, struct err *e);

#endif
