/* SPDX-License-Identifier: MIT */
/* watch.h: reverse-watch in one process image of a recording: the search (search/search.h) on real processes. */
#ifndef FRED_WATCH_WATCH_H
#define FRED_WATCH_WATCH_H

#include <jansson.h>

#include "gdb/gdb.h"
#include "reclog/rec.h"
#include "reclog/timeline.h"
#include "replay/operation.h"
#include "replay/stack.h"
#include "search/search.h"

struct watch_params {
	const char *expr;
	const char *good, *bad; /* positions, which may be inside segments; NULL: start, end */
	enum search_on_error on_error;
	bool inside; /* when it is bad at both ends: look for good states in between, inside segments too */
	bool suggest; /* when both ends count the same: look for a position to suggest */
	uint64_t nth; /* which of several transitions: the nth after the good position, from 1; 0: the last one ... */
	bool all; /* ... however long it takes to know that it is; else what follows is examined for a second */
	uint64_t later_ns; /* ... or however long what follows is examined; 0: a second */
	bool insn; /* values between any two instructions count, not only between two statements */
	bool exact; /* count the position's hits, however long that takes */
	bool anywhere; /* when it is true at both ends: the first event at which it is false becomes the bad end */
	const json_t *asked; /* the request, for the command that an error suggests; NULL: a session's */
};

enum watch_outcome { WATCH_FOUND = 0, WATCH_EQUAL = 1, WATCH_NO_SYMBOL = 2 };

struct watch_stats {
	double total_s, record_s, replay_s;
	uint64_t later_evaluations; /* what it took to know whether there are later transitions */
	double later_s;
	struct search_costs stage[SEARCH_STAGES];
};

/* A transition: the statement that made the expression bad, and the state of the program there. */
struct watch_result {
	char *expr; /* as the user wrote it */
	uint32_t process;
	struct timeline_point at; /* the instruction that made it; hits 0: its number of passes is not known */
	uint64_t events_total;
	bool at_end; /* the event at the end of the segment did it, not an instruction of the program's */
	struct thread_name thread;
	struct stack stack;
	char *before, *after; /* the values as GDB prints them, or "<why there is none>" */
	bool had_value; /* before is a value */
	bool freed; /* it was made where the memory was freed */
	bool may_be_later; /* it is not known to be the last transition ... */
	bool bad_at_events; /* ... but the expression is bad at each event after it */
	struct strv notes; /* what a user should know */
	struct watch_stats stats;
};

/*
 * Returns enum watch_outcome, or -1. WATCH_FOUND: *result is filled; watch_result_fini frees. WATCH_EQUAL: good and
 * bad count the same, e says so (ERR_NOT_FOUND); WATCH_NO_SYMBOL: the expression has no meaning in this program, e is
 * GDB's message (ERR_USAGE).
 */
int watch_process(const struct rec *rec, uint32_t process, const struct watch_params *p, struct gdb *g,
		  struct op_ctx *ctx, struct watch_result *result, struct err *e);
/* Fine on a zeroed one. */
void watch_result_fini(struct watch_result *r);
/* Replaces source lines that have changed since by those of the recording, and adds notes on them. */
void watch_result_use_sources(struct watch_result *r, const struct rec *rec);
/* The result object of reverse_watch, without what show_process adds. */
json_t *watch_result_json(const struct watch_result *r);
/* `position` of it: {event, events_total, thread, pc, hits}. */
json_t *watch_position_json(const struct watch_result *r);

#endif
