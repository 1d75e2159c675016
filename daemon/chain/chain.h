/* SPDX-License-Identifier: MIT */
/*
 * chain.h: the findings of explain: the failure, the steps from it back to its cause, and why the chain of steps ends.
 * They are turned into JSON here, and nowhere else; locations and backtraces come from replay/show.h, and are passed on
 * unchanged.
 */
#ifndef FRED_CHAIN_CHAIN_H
#define FRED_CHAIN_CHAIN_H

#include <jansson.h>
#include <stdbool.h>

#include "reclog/timeline.h"
#include "replay/navigate.h"

/* What happened at a step; their names in fredctl(1) are in chain.c. */
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

/* A state of the program, and what is to be said about it. Owns what it points to. */
struct step {
	enum step_role role;
	bool at_end; /* it is the program's end: `at` has an event, but no PC and hits */
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
/* Keeps only the first n steps. */
void chain_cut(struct chain *c, size_t n);
/* Removes the step i. */
void chain_drop(struct chain *c, size_t i);
void chain_fini(struct chain *c);
bool chain_has(const struct chain *c, enum step_role role);
/* Are two locations the same function of the same file? With `line`: also the same line. */
bool chain_same_place(const json_t *a, const json_t *b, bool line);
/* Is this number an argument of the function in this frame of a backtrace? only: is it its only argument? */
bool chain_has_argument(const json_t *frame, uint64_t number, bool only);
/*
 * The step as the JSON object of fredctl(1). process: its number in the recording; total: the events of its timeline.
 */
json_t *chain_step_json(const struct step *s, uint32_t process, uint64_t total);

/* Why a chain ends. */
enum chain_end {
	END_OPEN = 0, /* it has not ended */
	END_CLOSED, /* a descriptor was closed */
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
/* Did the chain end without a cause, since time, room or knowledge was missing? */
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
