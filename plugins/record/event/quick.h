/* SPDX-License-Identifier: MIT */
/*
 * quick.h: the records of a plain lock and of its release, written by the wrapper itself, without a call or a loop, as
 * rec_event() in ev.c writes all others. One store writes the record and the 0 after it. Recording in parallel only.
 */
#ifndef FRED_RECORD_QUICK_H
#define FRED_RECORD_QUICK_H

#include "record/core/state.h"
#include "record/event/cs.h"
#include "record/event/ev.h"

#define QUICK_ROOM 16

static inline int quick(const struct thr *t)
{
	return likely(G.mode == SHIM_RECORD && !G.serial && t->log.end - t->log.cur > QUICK_ROOM);
}

/* A plain mutex has been taken, and cs_locked() was called. */
static inline void quick_lock(struct thr *t, const void *obj)
{
	uint16_t rec = (uint16_t)(RLOG_LOCK | rlog_hash_addr(obj) << 8);

	__builtin_memcpy(t->log.cur, &rec, sizeof(rec));
	t->log.cur += sizeof(rec);
	t->clean = 0;
	if (unlikely(!t->cs))
		t->fence = 1;
}

/*
 * A mutex is about to be released. The time since the last stamp takes two or three bytes. A branch decides that: it is
 * usually predicted, so that the atomic instructions after it need not wait for arithmetic that begins with rdtsc.
 */
static inline void quick_unlock(struct thr *t, const void *obj)
{
	uint64_t hash = rlog_hash_addr(obj), now = stamp_next(t), delta = now - t->last_stamp, rec;
	uint8_t *p = t->log.cur;

	rec = RLOG_UNLOCK | (delta & 0x7f) << 8 | (delta & 0x3f80) << 9 | 0x8000;
	if (likely(delta < 1u << 14)) {
		rec |= hash << 24;
		__builtin_memcpy(p, &rec, sizeof(rec));
		p += 4;
	} else if (delta < 1u << 21) {
		rec |= (delta & 0x1fc000) << 10 | 0x800000 | hash << 32;
		__builtin_memcpy(p, &rec, sizeof(rec));
		p += 5;
	} else {
		uint8_t *q = rlog_put(p + 1, delta);

		*q++ = (uint8_t)hash;
		__atomic_store_n(p, RLOG_UNLOCK, __ATOMIC_RELEASE);
		p = q;
	}
	t->log.cur = p;
	t->last_stamp = now;
	t->clean = 1;
}

static inline void quick_leave(struct thr *t)
{
	if (unlikely(t->pending || G.serial)) {
		t->made_event = 1;
		shim_leave(t);
		return;
	}
	shim_leave_quiet(t);
}

#endif
