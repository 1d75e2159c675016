/* SPDX-License-Identifier: MIT */
/* checkpoints.h: the checkpoints that users made in debugging sessions, from outside of the session's GDB. */
#ifndef FRED_FRONTEND_CHECKPOINTS_H
#define FRED_FRONTEND_CHECKPOINTS_H

#include <jansson.h>

#include "base/err.h"

/*
 * Each as {checkpoint: its number, event, position, image}. id: the session (NULL: the one that runs, else the one that
 * ran last). New references, or NULL.
 */

/* {session, checkpoints: [...]}. */
json_t *checkpoints_list(const char *id, struct err *e);
/*
 * Runs GDB's command `checkpoint`, or `restart NAME`, in the session. *code: 0, or the command's exit code, without a
 * result; else the checkpoint, with its session.
 */
json_t *checkpoints_make(const char *id, int *code, struct err *e);
json_t *checkpoints_restart(const char *id, const char *name, int *code, struct err *e);

#endif
