/* SPDX-License-Identifier: MIT */
/* inspect.h: what a user sees of the state in which the program stands: a copy of it, that GDB looks at, and names for memory. */
#ifndef FRED_EXPLAIN_INSPECT_H
#define FRED_EXPLAIN_INSPECT_H

#include "explain/explain.h"
#include "expr/locals.h"

struct inspect {
	struct explain *x;
	pid_t copy; /* 0: not open */
	struct timeline_point at;
	json_t *thread, *location, *backtrace;
	struct gdb_frame *frames;
	size_t nframes;
	int user; /* the level of the frame that a user means; show_user_frame */
	bool to_copy; /* the function there is of libc's that copies or fills memory */
};

/* Where the travel stands. inspect_close in any case. */
int inspect_open(struct inspect *p, struct explain *x, struct err *e);
void inspect_close(struct inspect *p);

/*
 * Adds a step to the chain, in words. expression, before and after may be NULL. GDB need not be attached any more.
 */
void inspect_step(struct inspect *p, enum step_role role, const char *expression, const char *before, const char *after, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* The steps that follow are about the statement of this frame. */
void inspect_look_at(struct inspect *p, int level);
/* The name of the function in a frame; "?" where it has none. */
const char *inspect_function(const struct inspect *p, size_t level);
/* The level of the innermost frame of one of these functions (NULL at the end of the list); -1: none. */
int inspect_find(const struct inspect *p, const char *const *functions);
/* GDB's value of an expression in a frame, malloc'd; NULL: it has none. */
char *inspect_eval(struct inspect *p, int level, const char *expr);
bool inspect_number(struct inspect *p, int level, const char *expr, uint64_t *v);

/* Some object: a variable, or a block of the heap. */
struct object {
	char name[160]; /* "": none is known */
	uint64_t lo, len; /* len 0: unknown */
	bool heap, freed;
	uint64_t header; /* heap: the address of its header, written by malloc and by free */
};
/* The object that an address is in; false: none is known. */
bool inspect_object(struct inspect *p, uint64_t addr, struct object *o);
/* An array in the statement that begins at addr, the smallest one; false: none does. */
bool inspect_array(struct inspect *p, uint64_t addr, struct object *o);
/*
 * How the program would name this memory: an expression of the statement that stands there, or a variable, else its address.
 * malloc'd. *exact: it is an lvalue that means just this memory.
 */
char *inspect_name(struct inspect *p, uint64_t addr, unsigned len, bool *exact);
/* The word whose writing begins the life of the variable at addr in a frame: the return address. 0: it is in none. */
uint64_t inspect_birth(struct inspect *p, uint64_t addr, char *function, size_t size);
/* Source text: behind the bracket that closes the one at s; NULL: none does. */
const char *inspect_closing(const char *s);

#endif
