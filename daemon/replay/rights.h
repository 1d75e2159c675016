/* SPDX-License-Identifier: MIT */
/*
 * rights.h: what a replaying process may do (launch/confine.h), depending on its cell and on the owner of the
 * recording.
 */
#ifndef FRED_REPLAY_RIGHTS_H
#define FRED_REPLAY_RIGHTS_H

#include <stdbool.h>

#include "base/err.h"
#include "launch/confine.h"
#include "reclog/rec.h"

/* output: it writes what the program wrote (REPLAY_F_OUTPUT). For one start. */
struct launch_confine rights_of(const struct rec *rec, const struct rec_image *img, bool output);
/* What was made in REPLAY_DIR for a process is its user's: root may replay anybody's recording. */
int rights_hand_over(const struct rec *rec, struct err *e);

#endif
