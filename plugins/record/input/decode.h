/* SPDX-License-Identifier: MIT */
/* decode.h: does an instruction that brings input in begin at these bytes, for patch.c. Pure. */
#ifndef FRED_RECORD_DECODE_H
#define FRED_RECORD_DECODE_H

#include <stdint.h>

/* Bytes of the pattern at p, which begins with 0f: 0: it is none of them. */
unsigned decode_pattern(const uint8_t *p, const uint8_t *end);
/* Is there an instruction whose opcode begins with these bytes? p lies in [lo, end), a function. */
int decode_begins_there(const uint8_t *lo, const uint8_t *end, const uint8_t *p);
/*
 * A quick test: is it certain that no instruction begins there? An instruction has at most 15 bytes, so one begins
 * among any 15 bytes in a row, and decoding from there finds those after it. Decoding from any other place soon finds
 * the same ones. 0: it is certain.
 */
int decode_may_begin(const uint8_t *lo, const uint8_t *end, const uint8_t *p);
/*
 * For text of which no table says where functions begin: do all ways to decode the text before it, one of which is the
 * right one, find an instruction that begins there? The text begins at lo. starts: if it is code, an instruction
 * begins at lo.
 */
int decode_begins_surely(const uint8_t *lo, const uint8_t *end, const uint8_t *p, int starts);
/* Does the code around it in [lo, end) use the results at p as those of such an instruction are used? */
int decode_is_used(const uint8_t *lo, const uint8_t *p, const uint8_t *end);

#endif
