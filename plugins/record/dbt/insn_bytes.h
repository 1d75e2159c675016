/* SPDX-License-Identifier: MIT */
/*
 * insn_bytes.h: for instructions that are executed often: how many bytes of memory they access, and what they do to the
 * flags.
 */
#ifndef FRED_RECORD_INSN_BYTES_H
#define FRED_RECORD_INSN_BYTES_H

#include "record/dbt/insn.h"

enum insn_prefix { INSN_PP_NONE, INSN_PP_66, INSN_PP_F3, INSN_PP_F2 };

/* Prefixes of one byte. */
#define FS_PREFIX 0x64
#define GS_PREFIX 0x65
#define HALF 0x66 /* operands of 16 bits */
#define LOCK_PREFIX 0xf0
#define EVEX_BYTES 4 /* insn.vex of one with an EVEX prefix */

/* Has it that prefix of one byte? What VEX and EVEX imply does not count. */
int insn_has_prefix(const uint8_t *p, const struct insn *i, uint8_t prefix);
/* The prefix that selects among instructions on vectors. */
enum insn_prefix insn_simd_prefix(const uint8_t *p, const struct insn *i);
/* The size of an operand that is a general register, unless it is a byte: 2, 4 or 8. */
unsigned insn_number_bytes(const uint8_t *p, const struct insn *i);
/*
 * The size of the operand in memory, at the address that the ModRM byte gives; 0: that is not known here, the address
 * is another one, or not all of it is accessed.
 */
unsigned insn_operand_bytes(const uint8_t *p, const struct insn *i);
/* If the size is known: does it read its operand, write it, or both? NOT_KNOWN as well for atomic instructions. */
enum insn_way { INSN_NOT_KNOWN, INSN_READS, INSN_WRITES, INSN_CHANGES };
enum insn_way insn_operand_way(const uint8_t *p, const struct insn *i);

/*
 * What it does with CF, PF, AF, ZF, SF and OF. READ: it may read some, or that is not known. LEFT: it reads none, but
 * may leave some as they are. SET: it reads none, and sets all.
 */
enum insn_flags { INSN_FLAGS_READ, INSN_FLAGS_LEFT, INSN_FLAGS_SET };
enum insn_flags insn_flags_use(const uint8_t *p, const struct insn *i);

#endif
