/* SPDX-License-Identifier: MIT */
/* tool.h: runs other commands: fredctl's own, for their JSON, and those that users give. */
#ifndef FRED_HUNT_TOOL_H
#define FRED_HUNT_TOOL_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

#define TOOL_LOST_DAEMON 70
#define TOOL_CANCELLED 130
#define TOOL_SHELL_S 600 /* seconds; the manual names it */

/*
 * Runs fredctl (this very one) --json with these words, NULL-terminated; *result: the object that it printed, a new
 * reference, or NULL; why: what it said on standard error. Its exit status (128 + N for signal N), or -1 with e. It
 * dies with the caller.
 */
int tool_fredctl(const char *const *words, json_t **result, struct buf *why, struct err *e);
/*
 * Runs a command by /bin/sh, which reads this file and has these variables ("NAME=VALUE", NULL-terminated) besides. As
 * above; -1 (ERR_USAGE), too, when it has not ended after TOOL_SHELL_S: it is ended then, with all that is below it.
 */
int tool_shell(const char *command, const char *input, const char *const *vars, struct err *e);

#endif
