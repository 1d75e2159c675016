/* SPDX-License-Identifier: MIT */
/*
 * logbuild.h: writes logs and whole recordings for tests, as the recorder would. Failures abort the
 * test.
 */
#ifndef FRED_TEST_LOGBUILD_H
#define FRED_TEST_LOGBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "rlog/rlog.h"

/* One thread's log, in memory. */
struct logbuild {
	struct buf b;
	uint64_t last; /* stamp */
};

void lb_init(struct logbuild *lb, uint32_t process, uint32_t thread, uint64_t stamp0);
void lb_fini(struct logbuild *lb);
/*
 * Adds a record of this kind. stamp: absolute, for S kinds; hash: for H kinds; then nops operands
 * (uint64_t each; the first one of a Z kind is zigzag-coded here).
 */
void lb_add(struct logbuild *lb, enum rlog_kind kind, uint64_t stamp, uint8_t hash, unsigned nops,
	    ...);
/* The same with operands in an array, and a payload for P kinds. */
void lb_add_v(struct logbuild *lb, enum rlog_kind kind, uint64_t stamp, uint8_t hash, unsigned nops,
	      const uint64_t *op, const void *payload, size_t len);

/* A recording in a new temporary directory. */
struct recbuild {
	char dir[64];
};

/* With meta.json (not complete) and a control page. clock_hz 0: the counter clock. */
void rb_init(struct recbuild *rb, uint64_t clock_hz);
void rb_image(struct recbuild *rb, uint32_t process, uint32_t parent, enum rlog_origin origin,
	      uint64_t start_stamp);
void rb_log(struct recbuild *rb, uint32_t process, uint32_t thread, const struct logbuild *lb);
/* Writes a manifest into meta.json. */
void rb_finish(struct recbuild *rb);
/* Path of a file in it; a static buffer, overwritten by the next call. */
const char *rb_path(const struct recbuild *rb, const char *name);
/* Removes it. */
void rb_fini(struct recbuild *rb);

#endif
