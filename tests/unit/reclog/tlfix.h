/* SPDX-License-Identifier: MIT */
/* tlfix.h: what the tests of the timeline share. Failures end the test. */
#ifndef FRED_TEST_TLFIX_H
#define FRED_TEST_TLFIX_H

#include "logbuild.h"
#include "reclog/timeline.h"

struct rec *tl_open(struct recbuild *rb);
/* The timeline of a process in a variant, seed 7. */
struct timeline *tl_make(struct rec *rec, uint32_t process, unsigned variant);
/* Compares the runs with "THREAD*COUNT THREAD*COUNT ...". */
void tl_expect_runs(struct timeline *tl, const char *want);
/* Adds a log to a recording, and frees it. */
void tl_add_log(struct recbuild *rb, uint32_t process, uint32_t thread, struct logbuild *lb);
/* Begins two threads: 1 starts at 100 and creates 2 at 110, which starts at 120. */
void tl_two_threads(struct recbuild *rb, struct logbuild *a, struct logbuild *b);
/* Adds both logs and opens the recording. */
struct rec *tl_write_two(struct recbuild *rb, struct logbuild *a, struct logbuild *b);

#endif
