/* SPDX-License-Identifier: MIT */
/* pick.h: opening the recording an operation is about, and the process of it that is meant. */
#ifndef FRED_REPLAY_PICK_H
#define FRED_REPLAY_PICK_H

#include <jansson.h>
#include <stdbool.h>

#include "reclog/rec.h"

/* Opens params' `rec` and checks its manifest. */
int pick_rec(const json_t *params, struct rec **out, struct err *e);
/* params' `process` if given, else the default (reclog/procs.h). 0 and e set when there is none. */
uint32_t pick_process(const json_t *params, const struct rec *rec, struct err *e);

#endif
