/* SPDX-License-Identifier: MIT */
/*
 * drive.h: starting and stepping the test target from the pid 1 of a cell. Functions return 0 or
 * -1.
 */
#ifndef FRED_TEST_CKPT_DRIVE_H
#define FRED_TEST_CKPT_DRIVE_H

#include <sys/types.h>

#include "base/err.h"
#include "target.h"

/* Makes the control page and a recording in this cell's /run/fred; the page, or NULL. */
struct target_ctl *drive_furnish(struct err *e);
/*
 * Launches the target ($CKPT_TARGET) with a block of so many megabytes; its threads run when this
 * returns.
 */
int drive_launch(struct target_ctl *ctl, int megabytes, pid_t *pid, struct err *e);
/* Lets all threads do one step and waits for it. */
int drive_step(struct target_ctl *ctl, pid_t pid, struct err *e);
int drive_kill(pid_t pid, struct err *e);

#endif
