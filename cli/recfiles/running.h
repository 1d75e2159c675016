/* SPDX-License-Identifier: MIT */
/* running.h: the processes that still record into a recording, and the logs of those that have ended. */
#ifndef FRED_RECFILES_RUNNING_H
#define FRED_RECFILES_RUNNING_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Does any process record into it now? */
bool running_any(const char *dir);
/* The PID of one of them; 0: there is none. */
pid_t running_first(const char *dir);
/* {at, pids}: all of them, and when that was (seconds since the epoch). New reference. */
json_t *running_json(const char *dir);
/* Has this process mapped the recording's control page? */
bool running_has_mapped(const char *dir, pid_t pid);
/*
 * Truncates the logs of processes that have ended to what was written: a log is a mapped file that grows ahead of its
 * thread. *running: the number of processes that have not ended. For the recording's supervisor, which is their
 * subreaper.
 */
int running_trim_logs(const char *dir, unsigned *running, struct err *e);

#endif
