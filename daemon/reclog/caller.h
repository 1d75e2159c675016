/* SPDX-License-Identifier: MIT */
/* caller.h: where in a program a call was made, for a message. */
#ifndef FRED_RECLOG_CALLER_H
#define FRED_RECLOG_CALLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * Appends of the call that returns to pc: "FUNCTION at FILE:LINE"; "FUNCTION in OBJECT+0xADDRESS" where no line is known, without
 * the function where none is. ADDRESS is the object's own (nm(1), addr2line(1)); outside of all files it stands alone.
 */
void caller_add(struct buf *b, pid_t pid, uint64_t pc);

/*
 * Appends the name of the variable that addr is in, with members and elements as far as they are known ("accounts[3].lock"),
 * and where it is declared, " (FILE:LINE)"; false: it is in none that is known. Not thread-local ones, and none of a stack.
 */
bool caller_add_variable(struct buf *b, pid_t pid, uint64_t addr);

#endif
