/* SPDX-License-Identifier: MIT */
/*
 * local_guess.h: guesses which words to watch if it is not known what an expression reads, or it reads too much (as a
 * call into the program does that walks a list). A copy runs to a state in which the expression is bad, at most to the
 * end of the segment. Of the words in which this state differs from the left end, the first k are written into another
 * copy of the left end; bisecting over k finds a word that makes the expression bad. This is done once from the lowest
 * address up and once from the highest one down, and the two words are watched. A position found in this way is
 * accepted only if the expression is good there after the changed words have been restored.
 */
#ifndef FRED_LOCALSEARCH_LOCAL_GUESS_H
#define FRED_LOCALSEARCH_LOCAL_GUESS_H

#include "localsearch/local_state.h"

/* Looks for words to watch, by a copy that runs for cpu_ns: l->guess, n == 0 if there are none. May
 * answer (good at the end). */
int local_guess(struct local *l, uint64_t cpu_ns, enum local_verdict *v, struct err *e);
/*
 * Goes through the hits of the guessed words. When the guess leads to nothing it is dropped, and
 * the left end is where it was (as a copy): LOCAL_NOT_YET.
 */
int local_guided(struct local *l, uint64_t raw_max, enum local_verdict *v, struct err *e);

#endif
