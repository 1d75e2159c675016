/* SPDX-License-Identifier: MIT */
/* torn.c: see torn.h. */
#include "reclog/torn.h"

#include <string.h>

#define PAGE 4096u

static const uint8_t zero[PAGE];

static size_t first_lost(const struct reader *log)
{
	for (size_t at = log->start & ~(size_t)(PAGE - 1); at + PAGE <= log->size; at += PAGE)
		if (!memcmp(log->base + at, zero, PAGE))
			return at;
	return log->size;
}

/* Is there data after this page? A log is written in order, so this page had been written, too. */
static bool continues(const struct reader *log, size_t from)
{
	for (size_t at = from; at < log->size; at += PAGE)
		if (memcmp(log->base + at, zero, log->size - at < PAGE ? log->size - at : PAGE))
			return true;
	return false;
}

/* The last stamp of a log. *cut: its last record reaches beyond its end. */
static uint64_t last_stamp(const struct reader *log, bool *cut)
{
	struct reader_iter it = reader_begin(log);
	struct rlog_rec rec;

	while (reader_next_record(&it, &rec) == RLOG_READ_OK)
		;
	*cut = it.p < log->base + log->size && *it.p;
	return it.stamp;
}

/* Ends the log after its last slot that is not later than the stamp. */
static void end_at(struct reader *log, uint64_t stamp)
{
	struct reader_iter it = reader_begin(log);
	struct reader_slot slot;
	size_t end = (size_t)(it.p - log->base);

	while (reader_next_slot(&it, &slot, NULL) == RLOG_READ_OK && it.stamp <= stamp)
		end = (size_t)(it.p - log->base);
	if (end < log->size)
		log->size = end;
}

void torn_cut(struct reader *logs, unsigned n)
{
	uint64_t limit = UINT64_MAX;

	for (unsigned i = 0; i < n; i++) {
		size_t end = first_lost(&logs[i]);
		bool lost = continues(&logs[i], end), cut;
		uint64_t last;

		logs[i].size = end;
		last = last_stamp(&logs[i], &cut);
		if ((lost || cut) && last < limit)
			limit = last;
	}
	for (unsigned i = 0; i < n && limit != UINT64_MAX; i++)
		end_at(&logs[i], limit);
}
