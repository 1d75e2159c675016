/* SPDX-License-Identifier: MIT */
/*
 * lib_guard.h: recording in parallel: libraries with locks of their own (own_locks.h) that no thread has executed since
 * there are two.
 *
 * Most programs that load such a library never call it, or not while threads run: as long as it is not executed, nobody
 * takes its locks. So its text is not executable: the first thread that comes there gets a SIGSEGV, and one thread runs
 * at a time from that instruction on (preempt/interrupt.c). Until then /proc/self/maps shows that text without its x.
 */
#ifndef FRED_RECORD_LIB_GUARD_H
#define FRED_RECORD_LIB_GUARD_H

#include "record/core/state.h"

/*
 * The text at [lo, hi) of a library of that name, which stays the caller's, is guarded from lib_guard_arm() on. While
 * the process has one thread. -1: there are too many.
 */
int lib_guard_add(uint64_t lo, uint64_t hi, const char *name);
void lib_guard_arm(void);
/* Whose guarded text pc is in; NULL: it is in none. */
const char *lib_guard_at(uint64_t pc);
void lib_guard_open(void); /* all can be executed again */
/*
 * The library's text was executed while threads go on side by side: when there was one thread, or where the recorder
 * could not write a record. One at a time from the next thread, or the next system call on. NULL: not so.
 */
extern const char *lib_guard_used;

#endif
