/* SPDX-License-Identifier: MIT */
/*
 * statements.h: which statement of the program's own source an instruction belongs to, by the line tables. Code without
 * lines, and that of the system's headers and libraries and of the recorder, counts as part of the statement that
 * called it.
 */
#ifndef FRED_WATCH_STATEMENTS_H
#define FRED_WATCH_STATEMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct statements;

struct statements *statements_new(void);
void statements_free(struct statements *s);
/*
 * A number for the line of the instruction at pc, the same for all instructions of that line; 0: it has no line.
 * *begins: the line table says that a statement begins at this instruction. pid: the program, or a copy of it, at any
 * time.
 */
uint64_t statements_at(struct statements *s, pid_t pid, uint64_t pc, bool *begins);

#endif
