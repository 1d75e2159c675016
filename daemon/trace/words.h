/* SPDX-License-Identifier: MIT */
/* words.h: the memory that an expression reads, as pieces that debug registers can watch. */
#ifndef FRED_TRACE_WORDS_H
#define FRED_TRACE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_WORDS_MAX 64

struct trace_word {
	uint64_t addr;
	uint32_t len; /* bytes */
};

struct trace_words {
	bool complete; /* the expression depends on these words only */
	unsigned n;
	struct trace_word w[TRACE_WORDS_MAX];
};

/*
 * Splits the words into pieces of 1, 2, 4 or 8 aligned bytes, one for each debug register: out has room for `max`. The
 * number of pieces; 0: there are no words, they are not complete, or they need more than `max`.
 */
unsigned trace_words_pieces(const struct trace_words *w, unsigned max, struct trace_word *out);

#endif
