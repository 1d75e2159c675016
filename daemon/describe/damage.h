/* SPDX-License-Identifier: MIT */
/* damage.h: what `fredctl record --detect` has found in the heap, as text and as JSON. */
#ifndef FRED_DESCRIBE_DAMAGE_H
#define FRED_DESCRIBE_DAMAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "rlog/rlog.h"

/* The i-th note of a control page, if it is complete and an RLOG_NOTE_DAMAGE; *process: the one that made it. */
bool damage_note(const struct rlog_control *c, unsigned i, struct rlog_damage *d, uint32_t *process);
/* "a write after a block of 10 bytes at 0x...: ...", malloc'd. */
char *damage_text(const struct rlog_damage *d);
/* The object of fredctl(1). */
json_t *damage_json(const struct rlog_damage *d, uint32_t process);
/* All of them. */
json_t *damage_list(const struct rlog_control *c);

#endif
