/* SPDX-License-Identifier: MIT */
/* shape.h: what the daemon decodes (insn/insn.h), whose names are those of the recorder's decoder, too. */
#ifndef FRED_TESTS_RECORD_SHAPE_H
#define FRED_TESTS_RECORD_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of its operand in memory; -1: it cannot be decoded; -2: not all of them are accessed, or not there. */
int shape_bytes(const uint8_t *code, size_t n, unsigned *len);
/* 1: it reads its operand in memory; 2: it writes there; 3: both; 4: as an atomic operation. */
unsigned shape_way(const uint8_t *code, size_t n);
/* Of the flags that comparisons set. 1: it reads one; 2: it may leave one as it is. */
unsigned shape_flags(const uint8_t *code, size_t n);

#endif
