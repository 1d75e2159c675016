/* SPDX-License-Identifier: MIT */
/* line.h: where one statement ends and the next one begins, as a thread executes instruction after instruction. */
#ifndef FRED_LOCALSEARCH_LINE_H
#define FRED_LOCALSEARCH_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_LINE_STEPS 3000u /* instructions after which the search for the end of a statement stops */

/* The statement that a thread is in; 0: not known yet, it is in a library. at: the latest instruction of its line. */
struct trace_line {
	uint64_t now, at;
};

/*
 * The thread has reached the instruction at pc, of this line; 0: of no line of the program's source, as in a library
 * function that a statement calls. begins: the instruction starts a range of the line's code. Is it the first
 * instruction of another statement? Going back within a line to where a range starts, it is: each pass of a loop that
 * is written on one line is a statement.
 */
static inline bool trace_line_begins(struct trace_line *l, uint64_t line, uint64_t pc, bool begins)
{
	uint64_t before = l->now, at = l->at;

	if (!line)
		return false;
	l->now = line;
	l->at = pc;
	return line == before ? begins && pc < at : before || begins;
}

#endif
