/* SPDX-License-Identifier: MIT */
/*
 * torn.h: logs that a power cut left. Their pages reach the disk in any order; those that did not are zero, or the file
 * is shorter.
 */
#ifndef FRED_RECLOG_TORN_H
#define FRED_RECLOG_TORN_H

#include "reclog/reader.h"

/*
 * Lowers the sizes of an image's logs to what can be trusted: each ends before its first page of zeros (one that the
 * program read counts, too); and where a log has certainly lost records, the others end at the time of its last one, since
 * what came later may have waited for what is lost.
 */
void torn_cut(struct reader *logs, unsigned n);

#endif
