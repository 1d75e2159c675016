/* SPDX-License-Identifier: MIT */
/* line.h: where one statement ends and another one begins, from instruction to instruction. */
#ifndef FRED_TRACE_LINE_H
#define FRED_TRACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_LINE_STEPS 3000u /* instructions that the end of a statement is looked for */

/* The statement that a thread is in; 0: not known yet, it is in a library. */
struct trace_line {
	uint64_t now;
};

/*
 * The thread has come to an instruction of this line (0: of none, what a statement calls is a part of it), which begins a piece of
 * the line's code or not. Is it the first one of another statement?
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
