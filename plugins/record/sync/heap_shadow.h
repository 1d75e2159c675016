/* SPDX-License-Identifier: MIT */
/* heap_shadow.h: in a copy of a replaying process: the shadow of the heap (REPORT_SHADOW, rlog/report.h). */
#ifndef FRED_RECORD_HEAP_SHADOW_H
#define FRED_RECORD_HEAP_SHADOW_H

#include "rlog/report.h"

#include <stdint.h>

/*
 * Applies the change of the heap that this entry reports (rlog/report.h); called after the change, for FREE before it.
 */
void heap_shadow(enum replay_report_kind kind, uint64_t a, uint64_t b);

#endif
