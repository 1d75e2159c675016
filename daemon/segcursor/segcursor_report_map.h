/* SPDX-License-Identifier: MIT */
/*
 * segcursor_report_map.h: the report's memory in the copy of segcursor_report.c, and with it the shadow of the heap or
 * the table of what is known already, by which the copy chooses what it tells.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_REPORT_MAP_H
#define FRED_SEGCURSOR_SEGCURSOR_REPORT_MAP_H

#include "segcursor/segcursor_native.h"

/* Bytes of the report, at which it is read: few enough to stay in the processor's cache. */
#define SEGCUR_REPORT_FULL (512u << 10)
/* ... and besides, for entries that are made between two checks of whether it is full. */
#define SEGCUR_REPORT_ROOM (SEGCUR_REPORT_FULL + (1u << 20))

/* Maps them in the copy t, fills in the head of the report, and tells the recorder where it is. 0 or -1. */
int segcur_report_map(struct reporting *g, struct trace *t, struct err *e);

#endif
