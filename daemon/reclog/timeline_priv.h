/* SPDX-License-Identifier: MIT */
/* timeline_priv.h: shared by timeline.c, forks.c, merge.c, variants.c and lookup.c only. */
#ifndef FRED_RECLOG_TIMELINE_PRIV_H
#define FRED_RECLOG_TIMELINE_PRIV_H

#include "reclog/timeline.h"

struct tl_thread {
	const struct reader *log;
	uint32_t ordinal;
	uint64_t events; /* on the timeline */
	struct reader_marks marks;
	/* lookup.c */
	uint32_t *runs; /* this thread's runs, ascending */
	uint64_t nruns;
};

/* The events of one process on the timeline: its own, or an ancestor's up to a fork. */
struct tl_part {
	uint32_t process;
	struct reader *logs;
	struct tl_thread *threads; /* by ordinal, ascending */
	unsigned nthreads;
	uint16_t by_ordinal[RLOG_MAX_THREADS + 1]; /* index into threads + 1 */
	uint64_t first_run, runs; /* in timeline.runs */
	uint64_t first_event, events; /* how many events come before, and how many these are */
	uint32_t first_thread; /* of a bounded recording: whose event is the first one that is left; 0: none */
};

#define TL_BLOCK 64u

struct timeline {
	uint32_t process;
	struct tl_part *parts; /* eldest first, the image itself last */
	unsigned nparts;
	struct replay_slot *runs;
	uint64_t nruns, runs_cap;
	uint64_t total;
	uint64_t base; /* events that a bounded recording has dropped */
	bool live; /* the last event is yet to come */
	bool cut; /* as in struct rec */
	uint64_t start_stamp, last_stamp;
	double tsc_hz; /* 0: no clock */
	/* lookup.c; NULL until needed */
	uint32_t *run_index; /* by run: the thread's events before it */
	uint64_t *block_events; /* by block of TL_BLOCK runs: events before it */
};

/* Where a part ends: its last slot. */
struct tl_limit {
	bool set;
	bool ends_process; /* else: a fork, and what comes later is the parent's alone */
	uint32_t thread;
	uint64_t index; /* the thread's events up to and including its last one */
	uint64_t stamp;
};

struct tl_cursor {
	struct tl_thread *t;
	uint64_t key; /* heap order, with the thread's ordinal */
	struct reader_iter it, before; /* the places after and before the slot */
	struct reader_slot slot;
	bool in_heap, cut;
	uint8_t prev_kind; /* of the stamped event that ended the slot before */
	uint64_t tail; /* events after the last slot */
	/* variants.c: a key for each slot of this thread */
	uint64_t *keys;
	size_t nkeys, keys_cap, next_key;
	uint64_t admitted; /* events of the tail that are on the timeline */
};

struct tl_merge {
	struct timeline *tl;
	struct tl_part *part;
	struct tl_limit limit;
	struct tl_cursor *cursors; /* one per thread */
	struct tl_cursor **heap;
	unsigned heap_n;
	/*
	 * Called in the linear order for each slot, and with tail set for each thread's admitted
	 * tail.
	 */
	void (*sink)(struct tl_merge *m, struct tl_cursor *c, uint64_t events, bool tail);
	void *sink_data;
};

/*
 * Appends events to the timeline, to the last run if that is this thread's and not of an earlier
 * part.
 */
void tl_emit(struct timeline *tl, const struct tl_part *part, uint32_t thread, uint64_t events);

/* forks.c: where a parent's timeline ends for a child. */
int tl_find_fork(const struct tl_part *parent, uint32_t child, struct tl_limit *out, struct err *e);

/*
 * merge.c: passes the slots of a part to sink by end stamp. limit may be unset; NULL sink: tl_emit.
 */
int tl_merge_part(struct tl_merge *m, struct err *e);
void tl_merge_fini(struct tl_merge *m);
void tl_heap_sift(struct tl_cursor **heap, unsigned n, unsigned at);
/* variants.c: as tl_merge_part, but by other keys, and to the timeline. */
int tl_merge_variant(struct timeline *tl, struct tl_part *part, const struct tl_limit *limit,
		     const struct timeline_opts *opts, struct err *e);

#endif
