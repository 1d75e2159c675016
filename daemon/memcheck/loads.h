/* SPDX-License-Identifier: MIT */
/*
 * loads.h: bytes that one function has loaded, with their addresses, and strings that consist of them: where they end,
 * and where two of them differ. Characters are of one byte, or of four (wchar_t).
 */
#ifndef FRED_MEMCHECK_LOADS_H
#define FRED_MEMCHECK_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOADS_PIECE 32

struct loads_piece {
	uint64_t addr;
	uint8_t len, bytes[LOADS_PIECE];
};

struct loads {
	struct loads_piece *v;
	size_t n, cap;
	size_t last; /* the piece that was asked for last */
};

void loads_fini(struct loads *l);
/* Adds at most LOADS_PIECE bytes. What does not fit is forgotten. */
void loads_add(struct loads *l, uint64_t addr, const uint8_t *bytes, size_t n);
/* Forgets all bytes. */
void loads_reset(struct loads *l);

/*
 * *bytes: of the string at addr with its end, or of its first `most` characters. false: they were not all loaded.
 */
bool loads_length(struct loads *l, uint64_t addr, uint64_t most, unsigned width, uint64_t *bytes);

enum loads_compare { LOADS_MEMORY, LOADS_STRINGS, LOADS_STRINGS_NO_CASE };
/*
 * *bytes: up to and with the first of `most` characters that differ, or that end both; of NO_CASE, letters of ASCII are
 * taken for the same. false: they were not all loaded.
 */
bool loads_differ(struct loads *l, uint64_t a, uint64_t b, uint64_t most, unsigned width, enum loads_compare how,
		  uint64_t *bytes);

#endif
