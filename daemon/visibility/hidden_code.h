/* SPDX-License-Identifier: MIT */
/*
 * hidden_code.h: the code of the shim, libc and the loader, and where a thread in it may leave what is known of its
 * way. From an instruction on, jumps, branches and calls that have their target in themselves lead to instructions that
 * are known beforehand. An indirect jump or call may lead anywhere, such as to a function of the program, and a system
 * call may make another thread or process: these are the *exits*, at which a thread is stopped by an int3. A return
 * leads to where a call on the same stack was.
 */
#ifndef FRED_VISIBILITY_HIDDEN_CODE_H
#define FRED_VISIBILITY_HIDDEN_CODE_H

#include "visibility/breakpoints.h"
#include "visibility/visibility.h"

struct hidden_code;

/* As it is in the stopped process; b: what is inserted there, if anything, is not part of it. NULL: cannot be read. */
struct hidden_code *hidden_code_new(pid_t pid, const struct visibility *s, const struct breaks *b);
void hidden_code_free(struct hidden_code *c);
/* Finds the exits of what can be reached from pc; pc itself need not be in this code, which has none then. */
void hidden_code_reach(struct hidden_code *c, uint64_t pc);
/* Makes pc an exit as well, if it is in this code, or takes that back. */
void hidden_code_mark(struct hidden_code *c, uint64_t pc, bool on);
bool hidden_code_is_exit(const struct hidden_code *c, uint64_t pc);
unsigned hidden_code_exits(const struct hidden_code *c);
/*
 * Puts int3s at all exits at which there is none yet, in the text of the stopped process, and takes them out. Other
 * int3s stay as they are.
 */
int hidden_code_insert(struct hidden_code *c, pid_t pid, struct err *e);
int hidden_code_take_out(struct hidden_code *c, pid_t pid, struct err *e);
/* The process in which they are is gone. */
void hidden_code_forget(struct hidden_code *c);
/* While they are in: takes out the one at pc alone, or puts it in again. */
int hidden_code_lift(struct hidden_code *c, pid_t pid, uint64_t pc, bool out, struct err *e);

#endif
