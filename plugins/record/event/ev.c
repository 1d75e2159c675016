/* SPDX-License-Identifier: MIT */
/*
 * ev.c: events without payload, in both modes. System calls have their own code in sys/.
 *
 * The record is built after the cursor and its kind byte is stored last: the log is complete up to the last whole
 * record at any moment.
 */
#include "record/event/ev.h"
#include "record/core/scrub.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/tsc_clock.h"
#include "record/event/cs.h"
#include "record/event/hooks.h"
#include "record/event/turn.h"
#include "record/store/log.h"
#include "rlog/kinds.h"

static void rec_event(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t a, uint64_t b)
{
	unsigned flags = rlog_kinds[kind].flags, nops = rlog_kinds[kind].nops;
	uint8_t *p0, *p;

	t->made_event = 1;
	t->clean = (flags & RF_S) != 0;
	p0 = log_reserve(t, 48);
	if (unlikely(!p0))
		return;
	p = p0 + 1;
	if (flags & RF_S) {
		uint64_t now = stamp_next(t);

		p = rlog_put(p, now - t->last_stamp);
		t->last_stamp = now;
		t->released = obj;
	} else {
		t->fence = 1;
	}
	if (flags & RF_H)
		*p++ = rlog_hash_addr(obj);
	if (nops)
		p = rlog_put(p, (flags & RF_Z) ? rlog_zigzag((int64_t)a) : a);
	if (nops > 1)
		p = rlog_put(p, b);
	for (unsigned i = 2; i < nops; i++)
		p = rlog_put(p, 0);
	t->log.cur = p;
	__atomic_store_n(p0, (uint8_t)kind, __ATOMIC_RELEASE);
}

int ev_bytes(struct thr *t, enum rlog_kind kind, const uint64_t *op, unsigned nops, const void *bytes, uint64_t n)
{
	uint8_t *p0 = log_reserve(t, 24 + 10 * nops + n), *p;
	uint64_t now;

	if (!p0)
		return -1;
	now = stamp_now();
	p = rlog_put(p0 + 1, now - t->last_stamp);
	t->last_stamp = now;
	for (unsigned i = 0; i < nops; i++)
		p = rlog_put(p, op[i]);
	if (bytes) {
		p = rlog_put(p, n);
		__builtin_memcpy(p, bytes, n);
		p += n;
	}
	t->log.cur = p;
	__atomic_store_n(p0, (uint8_t)kind, __ATOMIC_RELEASE);
	return 0;
}

/* a: the value of an operand that is not in the record. */
static void tell_sync(enum rlog_kind kind, const void *obj, const struct rlog_rec *r, uint64_t a)
{
	if (unlikely(shim_report != 0))
		shim_tell(REPORT_SYNC, kind, (uint64_t)obj, r->nops ? r->op[0] : a);
}

static void check_hash(struct thr *t, const struct rlog_rec *r, enum rlog_kind kind, const void *obj)
{
	if (unlikely((r->flags & RF_H) && r->hash != rlog_hash_addr(obj))) {
		uint64_t got = (uint64_t)(uintptr_t)obj;

		turn_diverge(t, r, kind, &got, 1, "another object");
	}
}

SHIM_CLOSED void ev(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t a, uint64_t b)
{
	struct rlog_rec r;

	if (likely(G.mode == SHIM_RECORD)) {
		rec_event(t, kind, obj, a, b);
		return;
	}
	if (G.mode != SHIM_REPLAY)
		return;
	turn_take(t, &r, kind);
	check_hash(t, &r, kind, obj);
	tell_sync(kind, obj, &r, a);
}

int64_t ev_result(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t *b)
{
	struct rlog_rec r;

	turn_take(t, &r, kind);
	check_hash(t, &r, kind, obj);
	tell_sync(kind, obj, &r, 0);
	if (b)
		*b = r.op[1];
	return (int64_t)r.op[0];
}

void ev_half(struct thr *t, enum rlog_kind kind, int64_t *a, uint64_t *b)
{
	struct rlog_rec r;

	if (likely(G.mode == SHIM_RECORD)) {
		rec_event(t, kind, 0, (uint64_t)*a, b ? *b : 0);
		return;
	}
	if (G.mode != SHIM_REPLAY)
		return;
	turn_take(t, &r, kind);
	tell_sync(kind, 0, &r, 0);
	*a = (int64_t)r.op[0];
	if (b)
		*b = r.op[1];
}

static void record_callret(struct thr *t, int64_t ret, const void *payload, uint64_t n)
{
	uint8_t *p0, *p;

	t->fence = 1;
	p0 = G.mode == SHIM_RECORD ? log_reserve(t, 32 + n) : 0;
	if (!p0)
		return;
	p = rlog_put(p0 + 1, rlog_zigzag(ret));
	p = rlog_put(p, n);
	if (n)
		__builtin_memcpy(p, payload, n);
	t->log.cur = p + n;
	__atomic_store_n(p0, RLOG_CALLRET, __ATOMIC_RELEASE);
}

static const uint8_t *replay_callret(struct thr *t, int64_t *ret, uint64_t *len)
{
	struct rlog_rec r;

	turn_take(t, &r, RLOG_CALLRET);
	*ret = (int64_t)r.op[0];
	if (len)
		*len = r.payload_len;
	return r.payload;
}

const uint8_t *ev_callret(struct thr *t, int64_t *ret, const void *payload, uint64_t *len)
{
	if (G.mode == SHIM_REPLAY)
		return replay_callret(t, ret, len);
	record_callret(t, *ret, payload, len ? *len : 0);
	return 0;
}

SHIM_CLOSED void ev_done(struct thr *t)
{
	if (G.mode == SHIM_REPLAY)
		turn_done(t);
	else if (unlikely(G.serial) && t->clean)
		event_hooks.stamped(t);
}

/* The recorded thread waited for its turn here (gil_join), so other threads run first. */
static void join_replay(struct thr *t)
{
	struct rlog_rec r;

	if (likely(!turn_call_ahead(t, RLOG_CALL_JOINS)))
		return;
	turn_take(t, &r, RLOG_CALL);
	turn_done(t);
	while (event_hooks.deliver_replay(t))
		;
}

static void leave_replay(struct thr *t)
{
	while (event_hooks.deliver_replay(t))
		;
	join_replay(t);
	event_hooks.take_pages(t);
	turn_seek(t);
}

/*
 * Clears memory from right below the caller's frame and the two words that it pushes itself. It is in assembler, since
 * the frame of a C function may have padding, in which something left by libc's function would remain; a replay may not
 * have called that function.
 */
__asm__(".text\n"
	".globl shim_leave\n"
	".hidden shim_leave\n"
	".type shim_leave, @function\n"
	"shim_leave:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call shim_leave_begin\n"
	"	call shim_scrub\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp shim_leave_end\n"
	"	.cfi_endproc\n"
	".size shim_leave, .-shim_leave\n");

void shim_leave_begin(struct thr *t);
void shim_leave_end(struct thr *t);

SHIM_CLOSED __attribute__((used)) void shim_leave_begin(struct thr *t)
{
	if (t->made_event) {
		if (unlikely(t->pending) && G.mode == SHIM_RECORD)
			event_hooks.deliver_pending(t);
		else if (G.mode == SHIM_REPLAY)
			leave_replay(t);
		if (unlikely(G.serial && !t->gil.on) && G.mode == SHIM_RECORD)
			event_hooks.join(t);
		if (unlikely(G.serial && !t->no_tsc))
			tsc_begin(t);
	}
}

__attribute__((used)) void shim_leave_end(struct thr *t)
{
	t->depth = 0;
	t->selector = 1;
	/*
	 * a signal came after the check above: from now on, the program may read what the handler writes, without an
	 * event
	 */
	if (unlikely(t->pending) && t->made_event && G.mode == SHIM_RECORD) {
		t->selector = 0;
		t->depth = 1;
		event_hooks.deliver_pending(t);
		shim_leave(self);
		return;
	}
	if (unlikely(G.chaos) && t->made_event && !t->trap.in)
		event_hooks.step(t, 0);
}
