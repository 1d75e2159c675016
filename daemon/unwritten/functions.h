/* SPDX-License-Identifier: MIT */
/*
 * functions.h: functions of the recorder that write only where some of their arguments point to, besides what their
 * events tell; and what they do with others.
 */
#ifndef FRED_UNWRITTEN_FUNCTIONS_H
#define FRED_UNWRITTEN_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of `does`; others are the number of the argument that is a format. */
enum {
	FUNCTION_NOTHING = -1,
	FUNCTION_OUTPUTS = -2, /* hands buffers of the program's to the kernel */
	FUNCTION_TELLS = -3, /* reports what it has written at its first argument; an older recorder does not */
	FUNCTION_TELLS_ITEMS = -4, /* the same, except for the part of an item at the end of the file */
	FUNCTION_TELLS_ITEMS_CHECKED = -5 /* ... with the buffer's size before the item's size */
};

struct function_outputs {
	uint8_t out; /* a bit for each argument at which it writes */
	int8_t does;
};

extern const char *const functions_names[]; /* by number */
extern const struct function_outputs functions[];
extern const size_t functions_count;

/* A call whose outputs are not known may have written that many bytes at an argument. */
#define FUNCTIONS_WRITTEN_LEAST 256u

/* Is this the name of one with FUNCTION_OUTPUTS? */
bool functions_is_system_call(const char *name);
/* How many bytes a function may write at most, by its arguments: each of them may be a size, or two of them (fread). */
uint64_t functions_size_among(const uint64_t *arg, unsigned n);
/* Does the function of this number report all that it writes, with these arguments? */
bool functions_tells_all(int name, const uint64_t *arg);

#endif
