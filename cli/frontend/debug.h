/* SPDX-License-Identifier: MIT */
/* debug.h: a debugging session in GDB on a recording. */
#ifndef FRED_FRONTEND_DEBUG_H
#define FRED_FRONTEND_DEBUG_H

#include <jansson.h>

#include "args/args.h"
#include "bridge/session.h"

/*
 * Runs the session in GDB to its end. params: of the operation `debug`, stolen. is_new: a session that cannot begin is
 * discarded. The exit code, or -1 with e set.
 */
int debug_recording(const struct cli *cli, struct session *s, json_t *params, bool is_new, struct err *e);

#endif
