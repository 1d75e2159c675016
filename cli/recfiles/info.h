/* SPDX-License-Identifier: MIT */
/* info.h: what a recording consists of: the object of `fredctl info --json` (fredctl(1)). */
#ifndef FRED_RECFILES_INFO_H
#define FRED_RECFILES_INFO_H

#include <jansson.h>

#include "base/err.h"
#include "reclog/rec.h"

/* New reference, or NULL. */
json_t *info_json(const struct rec *rec, struct err *e);

#endif
