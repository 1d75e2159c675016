/* SPDX-License-Identifier: MIT */
/* meta.h: a recording's meta.json (fred-recording(5)): what was recorded, where, when, and how it ended. */
#ifndef FRED_SUPERVISOR_META_H
#define FRED_SUPERVISOR_META_H

#include <jansson.h>

#include "base/err.h"
#include "rlog/rlog.h"
#include "supervisor/record.h"

/* The metadata when the program starts. New reference. */
json_t *meta_new(const struct record_opts *o, const char *program, const struct rlog_control *c);
/* The time, RFC 3339, UTC, with milliseconds. New reference. */
json_t *meta_now(void);
/* Sets `notes`: what recorded processes left in the control page, as texts; with --detect also `damage`. */
void meta_set_notes(json_t *meta, const struct rlog_control *c);
/* Replaces DIR/meta.json by a rename: a reader sees the old file or the new one. */
int meta_write(const char *dir, const json_t *meta, struct err *e);
/* Has meta.json written to the disk, in case of a power cut during the run. A failure is ignored. */
void meta_sync(const char *dir);

#endif
