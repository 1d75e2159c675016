/* SPDX-License-Identifier: MIT */
/* log.h: recording: stamps, the logs of threads, notes for the user. */
#ifndef FRED_RECORD_LOG_H
#define FRED_RECORD_LOG_H

#include "record/core/state.h"

uint64_t stamp_now(void);
int log_open(struct thr *t); /* 0, or -1: recording has been switched off */
/* Makes room for n bytes; returns the write position or NULL when recording failed. */
uint8_t *log_reserve(struct thr *t, uint64_t n);
/* t's next record is its last: notes its place, so that the end of the log is found fast */
void log_mark(struct thr *t);
void note(enum rlog_note_kind kind, int64_t number, const char *text);
/* As note(), for a damaged block of the heap, RLOG_NOTE_DAMAGE. */
void note_damage(const struct rlog_damage *d);
/* Describes an address as "/lib/libfoo.so+0x12", or if it is in no file as a number, into out. */
void describe_caller(uint64_t pc, char *out, unsigned n);

struct rlog_kind_info;
const struct rlog_kind_info *shim_kinds(void);
void traps_count(uint64_t pc, long nr); /* a system call was trapped after pc */

#endif
