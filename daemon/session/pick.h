/* SPDX-License-Identifier: MIT */
/* pick.h: opening the recording an operation is about, and the process of it that is meant. */
#ifndef FRED_SESSION_PICK_H
#define FRED_SESSION_PICK_H

#include <jansson.h>
#include <stdbool.h>

#include "reclog/rec.h"

/* Opens params' `rec` and checks its manifest. */
int pick_rec(const json_t *params, struct rec **out, struct err *e);
/*
 * The images of a recording, those that the user most likely means first: what died of a signal,
 * what exited with a failure, the program that was started (the last image of its PID), the rest. A failure before
 * the program's own successful end belongs to the rest: the program has dealt with it. ordinals has room for
 * rec->nimages; returns how many.
 */
unsigned pick_order(const struct rec *rec, uint32_t *ordinals);
/* params' `process` if given, else the first of pick_order. 0 and e set when there is none. */
uint32_t pick_process(const json_t *params, const struct rec *rec, struct err *e);

/* How an image ended, from its logs. */
enum pick_end { PICK_RUNNING, PICK_EXECED, PICK_EXITED, PICK_FAILED, PICK_CRASHED };
enum pick_end pick_how_ended(const struct rec *rec, const struct rec_image *img, int *value);

#endif
