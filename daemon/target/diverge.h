/* SPDX-License-Identifier: MIT */
/* diverge.h: describes a divergence: event, thread, what was expected, what came, and the caller. */
#ifndef FRED_TARGET_DIVERGE_H
#define FRED_TARGET_DIVERGE_H

#include "target/target.h"

/* Sets e (ERR_INTERNAL) from the control page; returns -1. */
int diverge_explain(const struct target *t, struct err *e);

#endif
