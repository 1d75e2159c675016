/* SPDX-License-Identifier: MIT */
/* capture.h: runs a program and takes what it prints. */
#ifndef FRED_DOCTOR_CAPTURE_H
#define FRED_DOCTOR_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Runs argv[0] (searched in $PATH) with /dev/null as input; standard output and error are appended to
 * out. Killed after timeout_s. *status as from waitpid. -1 when it could not be run.
 */
int capture(char *const argv[], unsigned timeout_s, struct buf *out, int *status, struct err *e);

#endif
