/* SPDX-License-Identifier: MIT */
/*
 * timeline.h: the linear order of all events of a process image, made from its threads' logs.
 *
 * A slot is a thread's events up to and including the next stamped one: an acquire belongs to the
 * release after it. Slots are ordered by their end stamps (ties: by thread ordinal). A thread that
 * releases takes its stamp before the thread that acquires takes its own next one, so this order
 * respects every hand-over. A run is one or more consecutive slots of one thread.
 *
 * - A FORK image begins with its parent's timeline up to and including the FORK that made it, and
 *   so on for that parent: the prefix. Nothing else that the parents did is on it.
 * - What ends the process (CRASH, exit_group, abort's signal, an execve that succeeded) is the last
 *   event. Slots that end later are cut off: their threads were being stopped.
 * - Acquires after a thread's last stamped event (its tail) happened at some time before the process
 *   ended. A tail contains no release, so nothing depends on it, and tails can be in any order. They
 *   come after all slots, thread by thread, but before the slot that ends the process. An acquire that
 *   may have waited for a release that was cut off could not happen in a replay: it is cut off, too,
 *   with the rest of its tail. (An object is known by its hash; a join may have waited for any exit;
 *   what follows a cond or barrier wait, for any release.) A thread with slots that were cut off has no
 *   tail, since that would be even later.
 *
 * - While a program is being recorded (rec->live), the last event is the one that its thread moves
 *   towards; there is no record of it to read.
 *
 * Event numbers start at 1. Position N: events 1 to N have taken effect.
 */
#ifndef FRED_RECLOG_TIMELINE_H
#define FRED_RECLOG_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "reclog/pos.h"
#include "reclog/reader.h"
#include "reclog/rec.h"
#include "rlog/replay.h"

struct timeline;

/*
 * The schedule variant: which linear order of the slots is used. When a replay diverges, the next variant is tried. 0:
 * by end stamp. 1: by start stamp. 2 to 7: by a random moment in between, drawn from the seed and the variant. 8 to 13:
 * by the start stamp or the end stamp, depending on the thread. From 1
 * on, each thread's own order and each hand-over of variant 0 are kept: only unsynchronised segments change places.
 * Where threads ran one at a time (rec_one_order), only variant 0 exists.
 */
struct timeline_opts {
	unsigned variant;
	uint64_t seed;
};

/* The place of an event. */
struct timeline_where {
	uint64_t number; /* on the timeline, from 1 */
	uint32_t process; /* the process in whose log it is: an ancestor in the prefix */
	uint32_t thread; /* ordinal in that process */
	uint64_t index; /* in its log, from 0 */
	uint64_t offset; /* of its record in its log */
	int32_t tid;
};

struct timeline_event {
	struct timeline_where where;
	struct reader_event ev; /* views into the logs: valid as long as the timeline */
	/* since the recording's start; for an acquire, the end of its slot; negative: unknown */
	double seconds;
};

/*
 * Reads and merges the logs of an image and of its fork ancestors. opts may be NULL. Damage:
 * ERR_USAGE.
 */
int timeline_build(const struct rec *rec, uint32_t process, const struct timeline_opts *opts, struct timeline **out,
		   struct err *e);
/*
 * The events of a forked image alone, by variant 0. prefix, which is not 0, is the number of its FORK (timeline_forks).
 * Event numbers are the same as on the whole timeline, but the events before cannot be read.
 */
int timeline_build_alone(const struct rec *rec, uint32_t process, uint64_t prefix, struct timeline **out,
			 struct err *e);
void timeline_free(struct timeline *tl);

uint64_t timeline_total(const struct timeline *tl);
/* Events before the image's own: those of fork ancestors, and those that a bounded recording has given up. */
uint64_t timeline_prefix(const struct timeline *tl);
/* Number of events that a bounded recording has given up: the first remaining one is the next. The state after that
 * event is the start. */
uint64_t timeline_base(const struct timeline *tl);
uint32_t timeline_process(const struct timeline *tl);

/* All runs, and how many. Borrowed. */
const struct replay_slot *timeline_runs(const struct timeline *tl, uint64_t *n);

/* Writes struct replay_sched and its slots to a new or truncated file. */
int timeline_write_sched(const struct timeline *tl, const char *path, struct err *e);

/* ---- lookup.c: the first call of these builds an index (8 bytes a run) ---- */

/* ERR_USAGE when number is 0 or past the end. */
int timeline_find(struct timeline *tl, uint64_t number, struct timeline_where *w, struct err *e);
/* A thread whose events are on the timeline, or that belongs to the image itself. */
struct timeline_thread {
	uint32_t process, ordinal;
	int32_t tid; /* as recorded */
	uint64_t first; /* the number of its first event; 0: none is on the timeline */
};
/* Returns all of them (malloc'd) and how many: the image's own first, those of each process by ordinal. */
unsigned timeline_threads(struct timeline *tl, struct timeline_thread **out);
/* An image that the timeline's own process has forked, and the number of the FORK. */
struct timeline_fork {
	uint32_t child;
	uint64_t number;
};
/* Returns all whose FORK is on the timeline and has a result, at most max, and how many. */
unsigned timeline_forks(struct timeline *tl, unsigned max, struct timeline_fork *v);
/* One event, decoded. */
int timeline_read(struct timeline *tl, uint64_t number, struct timeline_event *ev, struct err *e);
/* Was the thread interrupted at this event, in the middle of the program's code (RLOG_PREEMPT)? */
bool timeline_is_interruption(struct timeline *tl, uint64_t number);

/*
 * Where the image would begin if `number` were its first remaining event: sets event, thread and threads (malloc'd) of
 * *s, and nothing else. *bytes: the size of the rest of its logs.
 */
int timeline_start_at(struct timeline *tl, uint64_t number, struct rec_start *s, uint64_t *bytes, struct err *e);

/* Walks events in order, without searching for each. */
struct timeline_walk {
	struct timeline *tl;
	uint64_t number; /* of the next event */
	uint64_t run, left; /* the run it is in, and events left in that */
	struct reader_iter *its; /* by thread of the current part */
	bool *placed;
	unsigned part;
};
int timeline_walk_init(struct timeline_walk *w, struct timeline *tl, uint64_t from, struct err *e);
/* 1: ev is set; 0: at the end. */
int timeline_walk_next(struct timeline_walk *w, struct timeline_event *ev, struct err *e);
void timeline_walk_fini(struct timeline_walk *w);

/* Seconds from the recording's start to a stamp; negative when the clock is not known. */
double timeline_seconds(const struct timeline *tl, uint64_t stamp);

/* A position without its text form: after event, or inside the segment after it if pc is not 0. */
struct timeline_point {
	uint64_t event;
	uint64_t pc, hits;
};
bool timeline_point_same(const struct timeline_point *a, const struct timeline_point *b);
/*
 * Resolves all kinds but POS_CKPT (ERR_USAGE: the caller knows the checkpoints). start is event 1,
 * or the FORK of a forked image; percentages count from there. @SECONDS: the last event not later
 * than that.
 */
int timeline_resolve(struct timeline *tl, const struct pos *pos, struct timeline_point *p, struct err *e);

#endif
