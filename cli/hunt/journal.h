/* SPDX-License-Identifier: MIT */
/*
 * journal.h: what a task of a hunt has found out: one JSON object a line, appended with one write each. Each task
 * writes a file of its own, and reads those of all. A line that was cut by a crash or a full disk does not count: its
 * result is found out again.
 */
#ifndef FRED_HUNT_JOURNAL_H
#define FRED_HUNT_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct journal {
	int fd; /* -1: not open */
	char *path;
	bool dirty; /* lines may not be on the disk yet */
	double synced_s; /* when that was not so (clock_s) */
};

/* A new file; one that exists is an error. journal_close in any case. */
int journal_create(struct journal *j, const char *path, struct err *e);
/*
 * Adds a line. sync: it is on the disk when this returns; else within a second. On failure (a full disk) the file is as
 * before. ERR_HOST.
 */
int journal_add(struct journal *j, const json_t *line, bool sync, struct err *e);
int journal_sync(struct journal *j, struct err *e);
void journal_close(struct journal *j);

/*
 * The complete lines from *offset on, and moves that after them. What is no JSON object is left out and counted in
 * *lost. A file that does not exist has none.
 */
int journal_read(const char *path, uint64_t *offset, void (*line)(void *arg, const json_t *v), void *arg,
		 unsigned *lost, struct err *e);

#endif
