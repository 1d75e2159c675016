/* SPDX-License-Identifier: MIT */
/* recordings.h: the recordings in $FRED_HOME/recordings. */
#ifndef FRED_RECFILES_RECORDINGS_H
#define FRED_RECFILES_RECORDINGS_H

#include <jansson.h>

#include "args/args.h"

/* [{name, recording, bytes, ...}], as `fredctl ls --json` has it, oldest first. New reference, or NULL. */
json_t *recordings_list(struct err *e);
/*
 * Removes recordings, by name or path. If one is no recording or is in use, none is removed. The paths of the removed,
 * a new reference; NULL with e set if any could not be removed.
 */
json_t *recordings_remove(const struct cli *cli, const struct strv *names, struct err *e);

#endif
