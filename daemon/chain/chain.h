/* SPDX-License-Identifier: MIT */
/*
 * chain.h: what explain found: the failure, the steps from it back to its cause, and why the chain of
 * steps ends. JSON is made of them here, and nowhere else; locations and backtraces are made by
 * replay/show.h and only passed on.
 */
#ifndef FRED_CHAIN_CHAIN_H
#define FRED_CHAIN_CHAIN_H

#include <jansson.h>
#include <stdbool.h>

#include "reclog/timeline.h"
#include "replay/navigate.h"

/* What happened at a step; chain.c has their names as in fredctl(1). */
enum step_role {
	STEP_FAILURE,
	STEP_ACQUIRE,
	STEP_ALLOC,
	STEP_CALL,
	STEP_CLOSE,
	STEP_COPY,
	STEP_FREE,
	STEP_INPUT,
	STEP_LATE,
	STEP_LOAD,
	STEP_RECURSION,
	STEP_RETURN,
	STEP_TEST,
	STEP_THROW,
	STEP_TRANSITION,
	STEP_WAIT,
	STEP_WAKE,
	STEP_WRITE,
};

/* A state in which the program stood, and what is to be said about it. Owns what it points to. */
struct step {
	enum step_role role;
	bool at_end; /* it is the program's end: `at` has an event, and neither PC nor hits */
	struct timeline_point at; /* hits 0: not known */
	char *words;
	char *expression, *before, *after; /* NULL: none */
	json_t *thread, *location, *backtrace;
};

struct chain {
	struct step *v;
	size_t n, cap;
};

/* Takes over what s points to. */
void chain_add(struct chain *c, const struct step *s);
/* Drops all steps but the first n. */
void chain_cut(struct chain *c, size_t n);
/* Without the step i. */
void chain_drop(struct chain *c, size_t i);
void chain_fini(struct chain *c);
bool chain_has(const struct chain *c, enum step_role role);
/* Are two locations the same function of the same file? With `line`: also the same line. */
bool chain_same_place(const json_t *a, const json_t *b, bool line);
/* Is this number an argument of the function in that frame of a backtrace? only: and its only one. */
bool chain_has_argument(const json_t *frame, uint64_t number, bool only);
/* The object of fredctl(1). process: the recording's number of it; total: events of its timeline. */
json_t *chain_step_json(const struct step *s, uint32_t process, uint64_t total);

/* Why a chain ends. */
enum chain_end {
	END_OPEN = 0, /* it does not yet */
	END_CLOSED, /* a descriptor was */
	END_COMPUTED,
	END_CONSTANT,
	END_CYCLE,
	END_DECIDED,
	END_FREED,
	END_INITIAL,
	END_INPUT,
	END_LATE,
	END_LIMIT,
	END_LOST_UPDATE,
	END_NEVER_WRITTEN,
	END_RECURSION,
	END_THROWN,
	END_TRANSITION,
	END_UNKNOWN,
	END_WAKE_UP,
};

const char *chain_end_name(enum chain_end end);
/* Did it lead nowhere: for want of time, room or knowledge? */
bool chain_led_nowhere(enum chain_end end);

struct chain_failure {
	const char *kind;
	char *text;
	int signal; /* 0: none */
	int code; /* exit status; -1: none */
	char *address, *expression, *type, *what; /* NULL: none */
};

json_t *chain_failure_json(const struct chain_failure *f);
void chain_failure_fini(struct chain_failure *f);

#endif
