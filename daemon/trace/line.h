/* SPDX-License-Identifier: MIT */
/* line.h: where one statement ends and the next one begins, as a thread executes instruction after instruction. */
#ifndef FRED_TRACE_LINE_H
#define FRED_TRACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_LINE_STEPS 3000u /* instructions after which the search for the end of a statement stops */

/* The statement that a thread is in; 0: not known yet, it is in a library. */
struct trace_line {
	uint64_t now;
};

/*
 * The thread has reached an instruction of this line; 0: of no line of the program's source, as in a library function
 * that a statement calls. begins: the instruction starts a range of the line's code. Is it the first instruction of
 * another statement?
 */
static inline bool trace_line_begins(struct trace_line *l, uint64_t line, bool begins)
{
	uint64_t before = l->now;

	if (!line || line == before)
		return false;
	l->now = line;
	return before || begins;
}

#endif
