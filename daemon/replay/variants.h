/* SPDX-License-Identifier: MIT */
/*
 * variants.h: REC/variants.json: {"PROCESS": variant} of timelines that have replayed to their end; {"linear PROCESS":
 * 1} of those that did not in parallel; {"whole PROCESS": 1} of those that need not be tried before segments are run in
 * copies.
 */
#ifndef FRED_REPLAY_VARIANTS_H
#define FRED_REPLAY_VARIANTS_H

#include <stdint.h>

#include "reclog/rec.h"
#include "replay/operation.h"

/* The value of a key; 0: the file does not have it. */
int variants_known(const struct rec *rec, const char *key);
void variants_note(const struct rec *rec, const char *key, unsigned value);
/* The variant of an image's timeline. */
int variants_of(const struct rec *rec, uint32_t process);
void variants_set(const struct rec *rec, uint32_t process, unsigned variant);
/*
 * Says where the first variant diverged, before the others are tried, which takes several times as long. ctx may be
 * NULL.
 */
void variants_tell(struct op_ctx *ctx, const struct err *why);

#endif
