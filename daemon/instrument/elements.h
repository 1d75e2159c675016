/* SPDX-License-Identifier: MIT */
/*
 * elements.h: which elements a gather, a scatter or a masked move accesses: an entry of kind REPORT_VECTOR
 * (rlog/report.h) for each vector register that says so comes in front of the access.
 */
#ifndef FRED_ELEMENTS_H
#define FRED_ELEMENTS_H

#include "insn/insn.h"
#include "rlog/report.h"

#include <stdbool.h>
#include <stdint.h>

#define ELEMENTS_BYTES 64
#define ELEMENTS_MAX 64 /* of an access, at most */

struct elements {
	uint8_t bytes[REPORT_VECTOR_FIRST][ELEMENTS_BYTES];
	bool known[REPORT_VECTOR_FIRST];
};

/* which: INDEX or MASK; bytes: ELEMENTS_BYTES */
void elements_put(struct elements *v, enum replay_report_vector which, const void *bytes);
/*
 * The addresses of the elements that an instruction of this shape accesses, and how many they are; -1: it is not known.
 * opmask: the mask register, if the shape is masked. base: the operand without the indices. The vectors are used up.
 */
int elements_of(struct elements *v, const struct insn_shape *s, uint64_t opmask, uint64_t base,
		uint64_t at[ELEMENTS_MAX]);
/*
 * With an opmask register, of a vector at *addr: the range from the first to the last element whose bit is set. Returns
 * its length, and sets *addr; 0: no bit is.
 */
uint64_t elements_masked(const struct insn_shape *s, uint64_t opmask, uint64_t *addr);

#endif
