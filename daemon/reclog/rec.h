/* SPDX-License-Identifier: MIT */
/*
 * rec.h: an opened recording: its metadata, control page and process images. Read-only; nothing is
 * locked, so that many processes can use one recording at once.
 *
 * Damage, a wrong version and missing files are ERR_USAGE, with the file, the offset and what to
 * do.
 */
#ifndef FRED_RECLOG_REC_H
#define FRED_RECLOG_REC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "reclog/image.h"
#include "reclog/reader.h"
#include "rlog/rlog.h"

enum rec_end { REC_END_UNKNOWN = 0, REC_END_CODE, REC_END_SIGNAL };

/* For a program that is still being recorded: the thread that moves towards an event that is not in its log yet. */
struct rec_live {
	uint32_t process, thread; /* ordinals; 0: none */
};

struct rec {
	char *dir;
	json_t *meta; /* all of meta.json; the strings below point into it */
	const char *program, *cwd, *sched, *malloc_mode, *version; /* "" if absent */
	enum rec_end end; /* how the program ended ... */
	int end_value; /* ... with which code or signal */
	double wall_s; /* 0: unknown */
	bool complete; /* the recording was finished: there is a manifest */
	bool torn; /* the recording is incomplete, and the machine has rebooted since: pages may be lost */
	bool without_data; /* packed without the data, so that it cannot be replayed */
	bool cut; /* a window of a recording (pack --from), which has only the memory that the window uses */
	struct rlog_control control; /* a copy */
	struct rec_image *images; /* by ordinal, ascending */
	unsigned nimages;
	const char *logs_dir; /* set by the owner: where a replay has whole copies of logs for which rec_log_changes is
				 true; NULL: nowhere */
	struct rec_live live; /* set by the owner: timelines of that process have one more event */
};

/* Opens REC. The manifest is not checked yet: see rec_verify_manifest. */
int rec_open(const char *dir, struct rec **out, struct err *e);
/* NULL is fine. */
void rec_free(struct rec *r);

/* The image with this ordinal; NULL and ERR_USAGE when there is none. Borrowed. */
const struct rec_image *rec_image(const struct rec *r, uint32_t ordinal, struct err *e);
/* Is only one order of its events possible? True if threads ran one at a time, or if there was only one thread. */
bool rec_one_order(const struct rec *r, uint32_t process);
/* "REC/pNNNN/tNNNN.log", malloc'd. */
char *rec_log_path(const struct rec *r, uint32_t process, uint32_t thread);
/* Is a part of the log outside of its file (frames.h), or can the file still change? */
bool rec_log_changes(const struct rec *r, const char *path);
/*
 * Opens the logs of all threads of an image (nthreads readers, malloc'd, by ordinal). A head that names another thread
 * or process is damage. Free with rec_logs_free.
 */
int rec_logs_open(const struct rec *r, const struct rec_image *img, struct reader **out, struct err *e);
void rec_logs_free(struct reader *logs, unsigned n);

/*
 * manifest.c: compares size and CRC32C of every file in the manifest; what differs is ERR_USAGE,
 * with the offset of the damage where the log tells it. Without a manifest there is nothing to
 * compare (0). The outcome for large recordings is kept in REC/.verified until a file's size or
 * mtime changes.
 */
int rec_verify_manifest(const struct rec *r, struct err *e);
/* Sets the checksum "crc32c" that the meta.json of a finished recording has of itself. To be called last. */
void rec_seal_meta(json_t *meta);
/* What to tell the user when a recording is not complete; NULL when it is. malloc'd. */
char *rec_incomplete_text(const struct rec *r);
/*
 * Writes a manifest: [{path, size, crc32c}] of the control page, images, logs and copied files in a
 * recording directory, sorted by path. New reference, or NULL.
 */
json_t *rec_make_manifest(const char *dir, struct err *e);

#endif
