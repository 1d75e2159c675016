/* SPDX-License-Identifier: MIT */
/* counts.h: what a recording's logs consist of, for `fredctl info`. Needs no timeline. */
#ifndef FRED_DESCRIBE_COUNTS_H
#define FRED_DESCRIBE_COUNTS_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "reclog/rec.h"

#define COUNTS_SYSCALLS 512

struct counts {
	uint64_t events, records; /* with and without result records */
	uint64_t log_bytes; /* heads and records; not what was preallocated after them */
	uint64_t kind_records[RLOG_KIND_LIMIT], kind_bytes[RLOG_KIND_LIMIT];
	uint64_t kind_data[RLOG_KIND_LIMIT]; /* of these, the payload: what came from outside */
	uint64_t kept_bytes; /* bytes that were read from files, and are not in the log but in copies of the files */
	uint64_t syscalls[COUNTS_SYSCALLS]; /* by number; calls with greater numbers are not counted here */
};

struct counts_thread {
	uint32_t process, thread;
	int32_t tid;
	uint64_t events, log_bytes;
	uint64_t kind_records[RLOG_KIND_LIMIT];
};

/*
 * Adds up one image's logs; *threads gets its nthreads entries if not NULL (malloc'd). Damage:
 * ERR_USAGE.
 */
int counts_image(const struct rec *rec, const struct rec_image *img, struct counts *c, struct counts_thread **threads,
		 struct err *e);
/*
 * The whole recording: {events, records, log_bytes, data_bytes, kept_bytes, bytes_per_event, kinds [{kind, name,
 * records, bytes, data_bytes}], syscalls [{name, number, calls}], processes [{process, pid, parent, origin, exe,
 * events, log_bytes, threads [{thread, tid, events, log_bytes, kinds {KIND: records}}]}]}, the lists in descending
 * order. NULL on failure.
 */
json_t *counts_json(const struct rec *rec, struct err *e);

#endif
