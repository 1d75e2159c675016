/* SPDX-License-Identifier: MIT */
/*
 * torn.h: logs after a power cut. Their pages reach the disk in any order; a page that did not is zero,
 * or the file is shorter.
 */
#ifndef FRED_RECLOG_TORN_H
#define FRED_RECLOG_TORN_H

#include "reclog/reader.h"

/*
 * Lowers the sizes of an image's logs to what can be trusted. Each log ends before its first page of zeros (also if
 * these are data that the program has read). If a log has certainly lost records, the others end at the time of its
 * last record, since later events may have waited for lost ones.
 */
void torn_cut(struct reader *logs, unsigned n);

#endif
