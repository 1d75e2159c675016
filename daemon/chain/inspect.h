/* SPDX-License-Identifier: MIT */
/*
 * inspect.h: the present state of the program as a user sees it: a copy with GDB attached, its frames and values, and
 * names for its memory.
 */
#ifndef FRED_CHAIN_INSPECT_H
#define FRED_CHAIN_INSPECT_H

#include "chain/explain.h"
#include "expr/locals.h"

struct inspect {
	struct explain *x;
	pid_t copy; /* 0: it is not open */
	struct timeline_point at;
	json_t *thread, *location, *backtrace;
	struct gdb_frame *frames;
	size_t nframes;
	int user; /* the level of the frame that a user means; see stack_user_frame */
	bool to_copy; /* the innermost function is one of libc that copies or fills memory */
};

/* Opens the present state. Call inspect_close in any case. */
int inspect_open(struct inspect *p, struct explain *x, struct err *e);
void inspect_close(struct inspect *p);

/*
 * Adds a step at this state to the chain. expression, before and after may be NULL. Needs no GDB.
 */
void inspect_step(struct inspect *p, enum step_role role, const char *expression, const char *before, const char *after,
		  const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Steps that are added from now on are about the statement of this frame. */
void inspect_look_at(struct inspect *p, int level);
/* This frame in the backtrace, with its arguments, borrowed; NULL: it is not in there. */
const json_t *inspect_row(const struct inspect *p, size_t level);
/* As inspect_look_at, for the innermost frame that was not given this number as an argument; only: as its only one. */
void inspect_look_past(struct inspect *p, uint64_t number, bool only);
/* The same (with only) for a location in a backtrace: takes it, and returns one. */
json_t *inspect_location_past(const json_t *backtrace, json_t *location, uint64_t number);
/* The name of a frame's function; "?" if it has none. */
const char *inspect_function(const struct inspect *p, size_t level);
/* The level of the innermost frame of one of these functions (NULL at the end of the list); -1: none. */
int inspect_find(const struct inspect *p, const char *const *functions);
/* GDB's value of an expression in a frame, malloc'd; NULL: it has none. */
char *inspect_eval(struct inspect *p, int level, const char *expr);
bool inspect_number(struct inspect *p, int level, const char *expr, uint64_t *v);

/* A variable or a block of the heap. */
struct object {
	char name[160]; /* "": none is known */
	uint64_t lo, len; /* len 0: unknown */
	bool heap, freed;
	uint64_t header; /* for a block: the address of its header, which malloc and free write */
};
/* The object that an address is in; false: not known. */
bool inspect_object(struct inspect *p, uint64_t addr, struct object *o);
/* The same for blocks of the heap only; needs no GDB. */
bool inspect_block(pid_t pid, uint64_t addr, struct object *o);
/* The smallest array that is named in the statement and begins at addr; false: none. */
bool inspect_array(struct inspect *p, uint64_t addr, struct object *o);
/*
 * A name for this memory: an expression of the current statement, or a variable, else its address. malloc'd. *exact: it
 * is an lvalue for exactly this memory.
 */
char *inspect_name(struct inspect *p, uint64_t addr, unsigned len, bool *exact);
/* Does the current statement name exactly this memory? */
bool inspect_is_named(struct inspect *p, uint64_t addr, unsigned len);
/*
 * If addr is a variable in a stack frame: the address of the frame's return address; the variable's life begins when
 * that is written. 0: addr is in no frame. function: the frame's.
 */
uint64_t inspect_birth(struct inspect *p, uint64_t addr, char *function, size_t size);
/* The symbol that the address belongs to, as "name + 8", or "name" at its beginning; malloc'd. NULL: not known. */
char *inspect_symbol(struct gdb *g, uint64_t addr);
/* In source text: the place behind the bracket that closes the one at s; NULL: there is none. */
const char *inspect_closing(const char *s);

#endif
