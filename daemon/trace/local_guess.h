/* SPDX-License-Identifier: MIT */
/*
 * local_guess.h: what to watch when an expression does not say what it reads, or reads too much (a
 * call into the program that walks a list). A copy runs on, up to the end of the segment or some
 * way, to where the expression is bad. Of the words in which it then differs from the left end, the
 * first k are put into another copy of the left end, and bisecting over k gives a word that makes
 * the difference: once from the low addresses on, once from the high ones. These two are watched,
 * as a guess. An answer found so is believed only if it stands the test: with the words it hit put
 * back, the expression is good.
 */
#ifndef FRED_TRACE_LOCAL_GUESS_H
#define FRED_TRACE_LOCAL_GUESS_H

#include "trace/local_state.h"

/* Looks for words to watch, by a copy that runs for cpu_ns: l->guess, n == 0 if there are none. May
 * answer (good at the end). */
int local_guess(struct local *l, uint64_t cpu_ns, enum local_verdict *v, struct err *e);
/*
 * Goes through the hits of the guessed words. When the guess leads to nothing it is dropped, and
 * the left end is where it was (as a copy): LOCAL_NOT_YET.
 */
int local_guided(struct local *l, uint64_t raw_max, enum local_verdict *v, struct err *e);

#endif
