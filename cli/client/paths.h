/* SPDX-License-Identifier: MIT */
/* paths.h: where fred's own files and the user's recordings are. */
#ifndef FRED_CLIENT_PATHS_H
#define FRED_CLIENT_PATHS_H

#include "base/err.h"

enum paths_own { PATHS_RECORDER, PATHS_DAEMON, PATHS_DAP, PATHS_REPL };
/* A part of fred: in the build tree beside fredctl, else where it was installed. malloc'd, or NULL: ERR_HOST. */
char *paths_own(enum paths_own which, struct err *e);

/*
 * The recording that the user means: a directory, or a name in $FRED_HOME/recordings, or the most
 * recent one there for NULL. An absolute path, malloc'd; NULL: ERR_USAGE, there is none.
 */
char *paths_recording(const char *name, struct err *e);
/* Would paths_recording find a recording by this name? */
int paths_is_recording(const char *name);
/* The latest recording of this program in $FRED_HOME. malloc'd; NULL: ERR_USAGE, there is none. */
char *paths_recording_of(const char *program, struct err *e);
/* The recording that this process, by its PID, is being recorded in. malloc'd; NULL: ERR_USAGE, fred does not record
 * it. */
char *paths_recording_of_process(const char *pid, struct err *e);
/*
 * A new recording's directory, made with mode 0700: `wanted` (which must be absent or empty) or
 * $FRED_HOME/recordings/PROGRAM-N for NULL. Absolute, malloc'd, or NULL.
 */
char *paths_new_recording(const char *wanted, const char *program, struct err *e);

#endif
