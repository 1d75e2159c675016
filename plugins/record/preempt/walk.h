/* SPDX-License-Identifier: MIT */
/* walk.h: replaying, in a copy that the worker holds: see rlog/walk.h. */
#ifndef FRED_RECORD_WALK_H
#define FRED_RECORD_WALK_H

#include <stdint.h>

/* Where the copy's thread begins. */
extern const uint8_t walk_enter[] __attribute__((visibility("hidden")));

#endif
