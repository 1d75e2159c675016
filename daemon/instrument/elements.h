/* SPDX-License-Identifier: MIT */
/*
 * elements.h: finds out which elements a gather, a scatter or a masked move accesses. For each vector register that
 * determines this, an entry of kind REPORT_VECTOR (rlog/report.h) comes before the access.
 */
#ifndef FRED_ELEMENTS_H
#define FRED_ELEMENTS_H

#include "insn/insn.h"
#include "rlog/report.h"

#include <stdbool.h>
#include <stdint.h>

#define ELEMENTS_BYTES 64
#define ELEMENTS_MAX 64 /* the most elements of an access */

struct elements {
	uint8_t bytes[REPORT_VECTOR_FIRST][ELEMENTS_BYTES];
	bool known[REPORT_VECTOR_FIRST];
};

/* which: INDEX or MASK; bytes: ELEMENTS_BYTES */
void elements_put(struct elements *v, enum replay_report_vector which, const void *bytes);
/*
 * The addresses of the elements that an instruction of this shape accesses, and how many there are; -1: not known.
 * opmask: the mask register, if the shape is masked. base: the operand's address without the indices. Afterwards the
 * vectors are forgotten.
 */
int elements_of(struct elements *v, const struct insn_shape *s, uint64_t opmask, uint64_t base,
		uint64_t at[ELEMENTS_MAX]);
/*
 * With an opmask register, of a vector at *addr: the range from the first to the last element whose bit is set. Returns
 * its length, and sets *addr; 0: no bit is.
 */
uint64_t elements_masked(const struct insn_shape *s, uint64_t opmask, uint64_t *addr);

#endif
