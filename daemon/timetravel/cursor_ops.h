/* SPDX-License-Identifier: MIT */
/*
 * cursor_ops.h: what the timeline cursor does with a process. The cursor's decisions (which segment, which stop, in
 * which order) are in the other files of this folder and use these operations alone, so that tests can run them on a
 * made-up process (tests/unit/timetravel/world.h). The real ones are cursor_process_ops.
 */
#ifndef FRED_TIMETRAVEL_CURSOR_OPS_H
#define FRED_TIMETRAVEL_CURSOR_OPS_H

#include "timetravel/cursor.h"

struct cursor_ops {
	/* The process: these set t->mode, t->tid and, inside a segment, t->in. See cursor_int.h. */
	int (*leave)(struct cursor *t, struct err *e);
	int (*enter)(struct cursor *t, uint64_t n, struct err *e);
	int (*enter_any)(struct cursor *t, uint64_t n, struct err *e);
	/* Leaves a checkpoint some events before n, since further steps back are likely. */
	int (*come_near)(struct cursor *t, uint64_t n, struct err *e);
	int (*hold)(struct cursor *t, uint64_t n, struct err *e);
	int (*run)(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e);
	int (*stand)(struct cursor *t, struct err *e);
	int (*checkpoint)(struct cursor *t, struct err *e);
	int (*keep)(struct cursor *t, uint64_t *id, struct err *e);
	/* nav_ckpt_before: the last checkpoint at or before `event`. */
	bool (*checkpoint_before)(struct nav *n, uint64_t event, uint64_t *at);
	/*
	 * From CURSOR_GROUP to CURSOR_INSIDE, in the same state; nothing to do if it is inside already. The stops of b
	 * before that state are counted, if that is cheap (count->known). Free *count with segcur_count_fini.
	 */
	int (*go_inside)(struct cursor *t, struct breaks *b, struct segcur_count *count, struct err *e);
	int (*regs)(struct cursor *t, pid_t tid, struct user_regs_struct *r, struct err *e);

	/* Inside a segment: see the functions of these names in segcursor.h. */
	int (*step)(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
	int (*look_on)(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
	int (*back)(struct segcur *in, struct err *e);
	int (*to_end)(struct segcur *in, struct err *e);
	int (*run_segment)(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
	int (*nth_stop)(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
	int (*last_stop)(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
	int (*back_to_stop)(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
	int (*to_counted)(struct segcur *in, struct breaks *b, struct segcur_count *c, struct stop *stop,
			  struct err *e);
	/* cursor_may_stop. */
	int (*may_stop)(struct cursor *t, struct segcur_far *f, struct err *e);
	int (*count_stops)(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e);
	int (*back_over)(struct segcur *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e);
	int (*walk_until)(struct segcur *in, bool fresh, const struct breaks *b, uint64_t pc, uint64_t hits,
			  struct stop *stop, struct err *e);
	int (*most_similar)(struct segcur *in, struct segcur_similar *s, struct err *e);
	enum stop_kind (*meets)(const struct breaks *b, struct trace *t);
};

extern const struct cursor_ops cursor_process_ops;

#endif
