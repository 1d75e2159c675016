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
	/* After that: it is at the beginning of a function that the recorder, or what it has called, calls. */
	void (*calls_back)(void *ctx);
	/* Does the user want to stop? May be NULL. */
	bool (*cancelled)(void *ctx);
	/*
	 * Writes the shadow of the heap as it is in the copy t to this address there (rlog/report.h); it is all 0. 0:
	 * it does not, and all accesses to the heap have entries. -1: error. NULL: all accesses have entries.
	 */
	int (*shadow)(void *ctx, struct trace *t, uint64_t at, struct err *e);
	/*
	 * The segments have been told, as far as the consumer wants. Fills pcs[] (REPORT_ONLY_MAX), and returns how
	 * many: not 0: they are told once more, by another copy, with accesses of the instructions at pcs[] only. May
	 * be NULL.
	 */
	size_t (*again)(void *ctx, uint64_t *pcs);
	/*
	 * NULL: all accesses have entries. Else only those that are not known have one (REPORT_NEW), where this says so
	 * of the instruction.
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
	uint64_t stepped; /* instructions that were not translated: the processor executed them, and nothing was told */
	uint64_t unseen; /* segments whose end was not reached in translated code: the rest of them was not told */
	uint64_t lost; /* entries for which there was no room */
	uint64_t broken; /* segments that ended in a fault of the program's */
	uint64_t accesses; /* that translated code has counted: with a filter */
	bool above; /* the heap has arenas of which filters know nothing; the consumer may set it in begun() */
	/* Not results, of this copy: see replay_report; the consumer's, set in begun(). */
	const uint64_t *word;
	const uint8_t *memory; /* a byte for each of them; NULL: nothing is known of the functions */
	size_t words;
	uint64_t called_sp;
	struct segcur_known known; /* with ops->sort: its own, for segcur_known_fini */
	uint64_t sorted; /* with ops->sort: how often it would say something else than before; the consumer's */
	uint64_t filter; /* which filter the copy uses (enum replay_report_filter) */
};

/*
 * How far one copy can go from event n on, at most to `most`: as long as the same thread moves, and does nothing for
 * which a copy of that thread alone does not suffice. At least n + 1.
 */
int segcur_report_reach(const struct target *t, uint64_t n, uint64_t most, uint64_t *to, struct err *e);
/* Has event n left all code as it was? false also where that is not known. */
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
