/* SPDX-License-Identifier: MIT */
/* place.h: what a user sees of the state in which the program stands: a copy of it, that GDB looks at, and names for memory. */
#ifndef FRED_EXPLAIN_PLACE_H
#define FRED_EXPLAIN_PLACE_H

#include "explain/explain.h"
#include "expr/locals.h"

struct place {
	struct explain *x;
	pid_t copy; /* 0: not open */
	struct timeline_point at;
	json_t *thread, *location, *backtrace;
	struct gdb_frame *frames;
	size_t nframes;
	int user; /* the level of the frame that a user means; show_user_frame */
	bool to_copy; /* the function there is of libc's that copies or fills memory */
};

/* Where the travel stands. place_close in any case. */
int place_open(struct place *p, struct explain *x, struct err *e);
void place_close(struct place *p);

/*
 * Adds a step to the chain, in words. expression, before and after may be NULL. GDB need not be attached any more.
 */
void place_step(struct place *p, const char *role, const char *expression, const char *before, const char *after, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* The steps that follow are about the statement of this frame. */
void place_look_at(struct place *p, int level);
/* The name of the function in a frame; "?" where it has none. */
const char *place_function(const struct place *p, size_t level);
/* The level of the innermost frame of one of these functions (NULL at the end of the list); -1: none. */
int place_find(const struct place *p, const char *const *functions);
/* GDB's value of an expression in a frame, malloc'd; NULL: it has none. */
char *place_eval(struct place *p, int level, const char *expr);
bool place_number(struct place *p, int level, const char *expr, uint64_t *v);

/* Some object: a variable, or a block of the heap. */
struct object {
	char name[160]; /* "": none is known */
	uint64_t lo, len; /* len 0: unknown */
	bool heap, freed;
	uint64_t header; /* heap: the address of its header, written by malloc and by free */
};
/* The object that an address is in; false: none is known. */
bool place_object(struct place *p, uint64_t addr, struct object *o);
/* An array in the statement that begins at addr, the smallest one; false: none does. */
bool place_array(struct place *p, uint64_t addr, struct object *o);
/*
 * How the program would name this memory: an expression of the statement that stands there, or a variable, else its address.
 * malloc'd. *exact: it is an lvalue that means just this memory.
 */
char *place_name(struct place *p, uint64_t addr, unsigned len, bool *exact);
/* The word whose writing begins the life of the variable at addr in a frame: the return address. 0: it is in none. */
uint64_t place_birth(struct place *p, uint64_t addr, char *function, size_t size);

#endif
