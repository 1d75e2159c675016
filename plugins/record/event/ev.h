/* SPDX-License-Identifier: MIT */
/*
 * ev.h: events, in both modes.
 *
 *   recording: ev() writes the record (stamped ones before the release takes effect)
 *   replaying: ev() compares it with the log; ev_done() hands the turn on and returns when it is back
 */
#ifndef FRED_RECORD_EV_H
#define FRED_RECORD_EV_H

#include "record/core/scrub.h"
#include "record/core/state.h"

static inline struct thr *shim_enter(void)
{
	struct thr *t = self;

	if (unlikely(!t || t->depth || !G.mode))
		return 0;
	t->selector = 0;
	t->depth = 1;
	t->made_event = 0;
	/* a signal handler that runs now can see the padding in frames of the kernel and the recorder */
	if (unlikely(G.serial))
		shim_scrub();
	return t;
}

/* For calls that made no event. */
static inline void shim_leave_quiet(struct thr *t)
{
	t->depth = 0;
	t->selector = 1;
}

/* If the call made an event, delivers waiting signals first. */
void shim_leave(struct thr *t);

/* An event with up to 4 operands. The flags of kind tell how many are used. */
void ev(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t a, uint64_t b);
/* The second half of an event. Recording: writes it. Replay: checks the kind and returns the operands. */
void ev_half(struct thr *t, enum rlog_kind kind, int64_t *a, uint64_t *b);
/* Replay: like ev() for an event whose first operand is its result: returns that. */
int64_t ev_result(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t *b);
/*
 * The second half of a CALL. Recording: writes ret and *len bytes (len may be NULL: none). Replay: returns the recorded
 * ones; the payload is in the log.
 */
const uint8_t *ev_callret(struct thr *t, int64_t *ret, const void *payload, uint64_t *len);
/*
 * Recording: writes a stamped record of nops operands and, unless bytes is NULL, n bytes. The caller decides whether
 * the record counts as `clean`. -1: there is no room for it.
 */
int ev_bytes(struct thr *t, enum rlog_kind kind, const uint64_t *op, unsigned nops, const void *bytes, uint64_t n);
/* The event has taken effect: replay hands the turn on and waits until it is back. */
void ev_done(struct thr *t);

#endif
