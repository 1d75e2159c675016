/* SPDX-License-Identifier: MIT */
/*
 * tell.h: in a copy of a replaying process: the entries that the recorder itself adds to a report
 * (rlog/report.h).
 */
#ifndef FRED_RECORD_TELL_H
#define FRED_RECORD_TELL_H

#include "rlog/report.h"

/* The report; NULL: none is wanted. The worker that holds the copy sets it. */
extern struct replay_report *shim_report __attribute__((visibility("hidden")));

/* Where calls of the recorder by translated code return to; NULL: no code has been translated. */
extern const void *shim_tell_back __attribute__((visibility("hidden")));

/* Adds an entry; pc: the part of its first word beside its kind. shim_report is not NULL. */
void shim_tell(enum replay_report_kind kind, uint64_t pc, uint64_t a, uint64_t b);

/* Has the worker take the entries out now, if there is a report. */
void shim_tell_taken(void);

/* ---- replay_report.code_at; shim_report is not NULL ---- */

extern unsigned shim_code_changes __attribute__((visibility("hidden"))); /* how often what is executable has changed */
int shim_code_has(uint64_t lo, uint64_t hi); /* is any of [lo, hi) in that list? */
int shim_code_add(uint64_t lo, uint64_t hi); /* 0: there is no room */
/* The range was mapped, unmapped or given other protections: removes it from the list. */
void shim_code_changed(uint64_t lo, uint64_t hi);

/* The recorder, or what it has called, has written to memory of the program's. */
static inline void shim_tell_written(const void *p, uint64_t n)
{
	if (__builtin_expect(shim_report != 0, 0))
		shim_tell(REPORT_WRITTEN, 0, (uint64_t)p, n);
}

/* The same of what is read. */
static inline void shim_tell_read(const void *p, uint64_t n, int by_libc)
{
	if (__builtin_expect(shim_report != 0, 0) && report_knows(shim_report, REPORT_READ))
		shim_tell(REPORT_READ, (uint64_t)by_libc, (uint64_t)p, n);
}

#endif
