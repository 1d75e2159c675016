/* SPDX-License-Identifier: MIT */
/*
 * user_checkpoints.h: checkpoints that the user asks for: an exact position, and an image of the process (CRIU) at the event before
 * it, from which all ways to this place and those behind it begin. They are as `monitor` commands.
 */
#ifndef FRED_DEBUG_USER_CHECKPOINTS_H
#define FRED_DEBUG_USER_CHECKPOINTS_H

#include "debug/debug.h"

/* checkpoint */
int ckpts_take(struct debug *d, const char *args, struct buf *out, struct err *e);
/* checkpoints */
int ckpts_list(struct debug *d, const char *args, struct buf *out, struct err *e);
/* restart N */
int ckpts_restart(struct debug *d, const char *args, struct buf *out, struct err *e);
/* delete-checkpoint N... ; without one, all */
int ckpts_delete(struct debug *d, const char *args, struct buf *out, struct err *e);

#endif
