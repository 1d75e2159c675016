/* SPDX-License-Identifier: MIT */
/* reading.h: events that bring bytes into one buffer of the program. */
#ifndef FRED_RECLOG_READING_H
#define FRED_RECLOG_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "reclog/reader.h"

struct input_read {
	uint64_t nr; /* of the system call */
	int fd; /* getrandom has none */
	uint64_t buffer, got; /* where, and how many bytes */
	int64_t offset; /* in its file, if the call says so; else -1 */
};

/* Is this a read, pread64, recvfrom or getrandom that returned bytes? */
bool reading_of(const struct reader_event *ev, struct input_read *r);

#endif
