/* SPDX-License-Identifier: MIT */
/*
 * segcursor_report.h: runs once through a segment, or through several of one thread, and reports what the thread does
 * there (rlog/report.h). A copy does this, in translated code. The process itself is not changed.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_REPORT_H
#define FRED_SEGCURSOR_SEGCURSOR_REPORT_H

#include "segcursor/segcursor.h"
#include "segcursor/segcursor_known.h"

struct segcur_report_ops {
	/* Called first, with the copy at the event before the segment. 0 or -1. */
	int (*begun)(void *ctx, const struct segcur *in, struct trace *t, struct err *e);
	/* Whole entries, in the order of execution. t: the copy, somewhere after the last of them. 0 or -1. */
	int (*entries)(void *ctx, const uint64_t *v, size_t n, struct trace *t, struct err *e);
	/* The thread continues in the program's code with this stack pointer: a call of the recorder, begun in an
	 * earlier segment, has returned. */
	void (*returned)(void *ctx, uint64_t sp);
	/*
	 * After that: the thread is at the beginning of a function that the recorder, or a function that it has called,
	 * calls.
	 */
	void (*calls_back)(void *ctx);
	/* Does the user want to stop? May be NULL. */
	bool (*cancelled)(void *ctx);
	/*
	 * Writes the shadow of the heap in the copy t to this address in it (rlog/report.h), where all is 0 before. 0:
	 * not done, and all accesses to the heap have entries. -1: error. NULL: all accesses have entries.
	 */
	int (*shadow)(void *ctx, struct trace *t, uint64_t at, struct err *e);
	/*
	 * The segments have been reported, as far as the consumer wants. Fills pcs[] (REPORT_ONLY_MAX), and returns how
	 * many. If there are any, another copy reports the segments once more, only with accesses of the instructions
	 * at pcs[]. May be NULL.
	 */
	size_t (*again)(void *ctx, uint64_t *pcs);
	/*
	 * NULL: all accesses have entries. Else, for instructions for which this function says so, only accesses that
	 * are not known (REPORT_NEW).
	 */
	enum segcur_sort (*sort)(void *ctx, uint64_t pc);
};

struct segcur_report {
	const struct segcur_report_ops *ops;
	void *ctx;
	bool args; /* the arguments of calls are reported (REPORT_ARGS) */
	bool every; /* each instruction has an entry (REPORT_INSN) */
	bool loaded; /* what libc loads has entries (REPORT_LOADED) */
	uint64_t most; /* a copy with a filter ends early when it has made more accesses since its last entries; 0:
			  never */
	uint64_t most_ns; /* segcursor_report.c: of CPU time, for a segment whose end is an event; 0: not known yet */
	uint8_t last[RLOG_MAX_THREADS]; /* by thread: the kind of its last event so far, 0: none; its own */
	double seconds[RLOG_MAX_THREADS]; /* and when that was; 0: not known */
	/* Results, which add up over segments. */
	/* instructions that were not translated: the processor executed them, and nothing was reported */
	uint64_t stepped;
	uint64_t unseen; /* segments whose end was not reached in translated code: the rest of them was not reported */
	uint64_t lost; /* entries for which there was no room */
	uint64_t broken; /* segments that ended by a fault of the program */
	uint64_t accesses; /* with a filter: the accesses that translated code has counted */
	bool above; /* the heap has arenas that filters do not know; the consumer may set it in begun() */
	/* Set by the consumer in begun(), for this copy: see replay_report. */
	const uint64_t *word;
	const uint8_t *memory; /* a byte for each of them; NULL: nothing is known of the functions */
	size_t words;
	uint64_t called_sp;
	struct segcur_known known; /* with ops->sort: used internally, for segcur_known_fini */
	uint64_t sorted; /* with ops->sort: incremented by the consumer when its answers change */
	uint64_t filter; /* which filter the copy uses (enum replay_report_filter) */
};

/*
 * How far one copy can go from event n, at most to `most`: as long as the same thread moves, and does nothing that
 * needs other threads. At least n + 1.
 */
int segcur_report_reach(const struct target *t, uint64_t n, uint64_t most, uint64_t *to, struct err *e);
/* Is all code unchanged after event n? false also if that is not known. */
bool segcur_report_keeps_code(const struct target *t, uint64_t n);
/* Is event n a system call that may have changed mappings? */
bool segcur_report_maps(const struct target *t, uint64_t n);
/*
 * Did their thread do so little in the segments after n up to `to` that tables of known accesses cost more than they
 * save? By when all threads' events were recorded, and its own.
 */
bool segcur_report_is_brief(const struct segcur_report *r, const struct target *t, uint64_t n, uint64_t to);
/*
 * Reports the segments from event n, at which the target stands, to event `to` (segcur_report_reach). Afterwards the
 * target stands at event n + 1, or is on its way there. ERR_USAGE: the recorder is older than this.
 */
int segcur_report_segments(struct segcur_report *r, struct target *t, uint64_t n, uint64_t to, struct shim_frames *o,
			   struct err *e);

#endif
