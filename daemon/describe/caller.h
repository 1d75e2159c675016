/* SPDX-License-Identifier: MIT */
/* caller.h: where in a program a call was made, for a message. */
#ifndef FRED_DESCRIBE_CALLER_H
#define FRED_DESCRIBE_CALLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * Appends where the call that returns to pc was made: "FUNCTION at FILE:LINE", or "FUNCTION in OBJECT+0xADDRESS" if no
 * line is known, or without FUNCTION if that is unknown, too. ADDRESS is as in the object's file (nm(1), addr2line(1));
 * for code in no file it stands alone.
 */
void caller_add(struct buf *b, pid_t pid, uint64_t pc);
/* The file (malloc'd; NULL: not known) and line of the instruction at pc, by the last row of the line table for it. */
char *caller_line(pid_t pid, uint64_t pc, int *line);
/* The same for code at an offset of a file, after the call: without a process. */
void caller_add_in_file(struct buf *b, const char *path, uint64_t offset);

/*
 * Appends the name of the variable that holds addr, with members and elements as far as they are known
 * ("accounts[3].lock"), and where it is declared, " (FILE:LINE)". false: no such variable is known. Finds neither
 * thread-local variables nor those on a stack.
 */
bool caller_add_variable(struct buf *b, pid_t pid, uint64_t addr);

#endif
