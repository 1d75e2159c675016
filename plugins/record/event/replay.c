/* SPDX-License-Identifier: MIT */
/*
 * replay.c: replay: takes a thread's records one by one, with what comes between them: signals, pages, interruptions.
 */
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/event/donate.h"
#include "record/event/hooks.h"
#include "record/event/turn.h"
#include "record/store/log.h"

/*
 * A recording has nothing that corresponds to this search, so it must leave no trace: the vector registers are
 * restored.
 */
static void begin_seek(void *t)
{
	_Alignas(16) uint8_t vectors[512];

	__asm__ volatile("fxsave64 %0" : "=m"(vectors));
	event_hooks.seek(t);
	__asm__ volatile("fxrstor64 %0" : : "m"(vectors));
}

/*
 * An event is over, with its second half if it has one: starts the search if the thread is to be interrupted before the
 * next one.
 */
void turn_seek(struct thr *t)
{
	if (likely(!turn_next_is(t, RLOG_PREEMPT)) || t->undone || t->preempt.seeking)
		return;
	if (!G.ctl->endless)
		own_stack_call(t, begin_seek, t);
}

/*
 * The registers that a function need not keep would show how a thread waited. They are set to fixed values, so that a
 * debugger sees the same state after a call each time.
 */
static inline void wipe_registers(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\t"
			 "xor %%edi, %%edi\n\txor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\t"
			 "xor %%r11d, %%r11d" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

void turn_done(struct thr *t)
{
	turn_pass(t);
	event_hooks.take_pages(t);
	turn_seek(t);
	turn_scrub_done();
	wipe_registers();
}

static void skip_record(struct thr *t)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;

	if (rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK)
		turn_diverge(t, 0, RLOG_YIELD, 0, 0, "the log of this thread is damaged");
	t->log.rd = p;
	t->last_stamp += r.delta;
}

void turn_skip(struct thr *t)
{
	skip_record(t);
	turn_done(t);
}

void turn_skip_page(struct thr *t)
{
	skip_record(t);
	turn_pass(t);
}

void turn_before_event(struct thr *t)
{
	turn_await(t);
	if (unlikely(t->donate.donor))
		donate_end(t);
}

/*
 * The thread comes to the next record. Before it, there may be signals that came in its wait and, in serial recordings,
 * yields, where the turn was given up inside the call.
 */
static void come_to_record(struct thr *t)
{
	turn_before_event(t);
	event_hooks.take_pages(t);
	while (unlikely(turn_next_is(t, RLOG_YIELD) || turn_next_is(t, RLOG_SIGNAL))) {
		if (turn_next_is(t, RLOG_YIELD))
			turn_skip(t);
		else if (!event_hooks.deliver_waiting(t))
			break;
		turn_await(t);
	}
}

int turn_peek(struct thr *t, struct rlog_rec *r)
{
	const uint8_t *p;

	come_to_record(t);
	p = t->log.rd;
	return rlog_next(shim_kinds(), &p, t->log.rd_end, r) == RLOG_READ_OK;
}

int turn_record_ahead(const struct thr *t, const uint8_t **p, struct rlog_rec *r)
{
	do {
		if (rlog_next(shim_kinds(), p, t->log.rd_end, r) != RLOG_READ_OK)
			return 0;
	} while (r->kind == RLOG_PAGE || r->kind == RLOG_YIELD);
	return 1;
}

int turn_result_ahead(const struct thr *t, struct rlog_rec *r)
{
	const uint8_t *p = t->log.rd;

	return turn_record_ahead(t, &p, r);
}

int turn_call_ahead(const struct thr *t, enum rlog_call which)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;

	return turn_next_is(t, RLOG_CALL) && rlog_next(shim_kinds(), &p, t->log.rd_end, &r) == RLOG_READ_OK &&
	       r.op[0] == which;
}

int turn_next_call_is(struct thr *t, enum rlog_call which)
{
	struct rlog_rec r;

	return turn_next_is(t, RLOG_CALL) && turn_peek(t, &r) && r.op[0] == which;
}

void turn_take(struct thr *t, struct rlog_rec *r, enum rlog_kind kind)
{
	const uint8_t *p;

	t->made_event = 1;
	if (unlikely(kind == RLOG_SIGNAL)) /* its record has been handled */
		turn_before_event(t);
	else
		come_to_record(t);
	p = t->log.rd;
	if (unlikely(rlog_next(shim_kinds(), &p, t->log.rd_end, r) != RLOG_READ_OK))
		turn_diverge(t, 0, kind, 0, 0, "the log of this thread ends here");
	if (unlikely(r->kind != kind))
		turn_diverge(t, r, kind, 0, 0,
			     r->kind == RLOG_PREEMPT ? "the computation was interrupted before it came to this"
						     : "another event");
	t->log.rd = p;
	t->last_stamp += r->delta;
	if (r->flags & RF_C)
		t->undone = 1;
}
