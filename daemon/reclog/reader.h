/* SPDX-License-Identifier: MIT */
/*
 * reader.h: one thread's log, mapped read-only, as a sequence of events. An event is a C record
 * together with its result record, if it has one (SYS and SYSRET, COND_WAIT and COND_WOKE ...). Any
 * bytes are safe to read: a damaged log ends in RLOG_READ_BAD, and reader_explain says where and
 * why.
 */
#ifndef FRED_RECLOG_READER_H
#define FRED_RECLOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rlog/rlog.h"

struct reader {
	char *name; /* path, for messages */
	const uint8_t *base; /* the whole file, head included */
	size_t size; /* bytes of it that are read; the owner may lower this */
	size_t mapped; /* bytes that reader_fini unmaps */
	bool lenient; /* set by the owner: a record cut short by the end of the file ends the log */
	int32_t pid; /* set by the owner: whose log it is; 0: unknown */
	uint64_t start, start_stamp; /* set by the owner: where the rest of the log begins; 0: after its head */
	struct rlog_head head;
};

struct reader_event {
	struct rlog_rec rec;
	struct rlog_rec result; /* valid if has_result; a view into the log, as rec */
	bool has_result;
	uint64_t index; /* in its thread, from 0 */
	uint64_t offset; /* of rec in the file */
	uint32_t bytes; /* rec and result together */
	uint64_t stamp; /* absolute; without S: the thread's last stamp before it */
};

/* A place in a log. Copy it freely; valid as long as the reader. */
struct reader_iter {
	const struct reader *r;
	const uint8_t *p;
	uint64_t stamp; /* the thread's last stamp */
	uint64_t index; /* of the next event */
};

/* Can this fred read this version (RLOG_VERSION)? ERR_USAGE if not; what: the path, or more, for the message. */
int reader_version_check(const char *what, int64_t version, struct err *e);
/* Maps a log and checks its head. Damage and a wrong version are ERR_USAGE. */
int reader_open(struct reader *r, const char *path, struct err *e);
/*
 * The same for a log that is partly compressed, or may become so while it is read: reads a complete copy. See
 * frames.h.
 */
int reader_open_whole(struct reader *r, const char *path, struct err *e);
/* The same over memory that outlives r. */
int reader_init_mem(struct reader *r, const char *name, const void *data, size_t len, struct err *e);
/* Unmaps; r may be zeroed or already finished. */
void reader_fini(struct reader *r);

/* The log's first record. */
struct reader_iter reader_begin(const struct reader *r);
/* The event with this index, which starts at this offset; stamp: the thread's last stamp before it. */
struct reader_iter reader_at(const struct reader *r, uint64_t index, uint64_t offset, uint64_t stamp);
/*
 * Decodes the next event and its result. Result records that do not follow their event directly are
 * skipped. RLOG_READ_BAD: the iterator stays in front of the damaged record.
 */
enum rlog_read reader_next(struct reader_iter *it, struct reader_event *ev);
/* Decodes the next record, event or not, and adds up the stamps: for scans that need no pairs. */
enum rlog_read reader_next_record(struct reader_iter *it, struct rlog_rec *rec);

/*
 * Where every READER_MARK_EVERY-th event of a log starts, for reader_at. Zero-initialised: empty.
 */
#define READER_MARK_EVERY 64u
struct reader_mark {
	uint64_t offset;
	uint64_t stamp; /* the thread's last stamp before it */
};
struct reader_marks {
	struct reader_mark *mark; /* malloc'd; mark[i] is event i * READER_MARK_EVERY */
	size_t n, cap;
};

void reader_mark_add(struct reader_marks *m, uint64_t offset, uint64_t stamp);

/* The events up to and including the next stamped one. */
struct reader_slot {
	uint64_t events; /* how many; 0: the log ended */
	bool stamped; /* false: the log ended before a stamped event came */
	bool last; /* its last event ends the process, see reader_ends_process */
	uint8_t kind; /* of the stamped event */
};

/*
 * Is the event rec, after which `it` stands, the last one of the process? It is if it is a CRASH, exit_group, a
 * successful execve, or a signal to the process itself from which it did not return (abort).
 */
bool reader_ends_process(const struct reader_iter *it, const struct rlog_rec *rec);
/*
 * Decodes a slot; afterwards it->stamp is the slot's end. Adds marks if `marks` is not NULL. RLOG_READ_END: no further
 * stamp was found.
 */
enum rlog_read reader_next_slot(struct reader_iter *it, struct reader_slot *slot, struct reader_marks *marks);
/* Sets "NAME: damaged at offset N: why" (ERR_USAGE); returns -1. Call after RLOG_READ_BAD. */
int reader_explain(const struct reader_iter *it, struct err *e);

/* Flags, operands and name of a kind below RLOG_KIND_LIMIT. */
const struct rlog_kind_info *reader_kind(unsigned kind);

#endif
