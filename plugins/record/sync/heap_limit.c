/* SPDX-License-Identifier: MIT */
/*
 * heap_limit.c: the kernel refuses memory for the heap (RLIMIT_AS, RLIMIT_DATA, strict overcommit). A replay has no
 * such limit, so this is an event, and the same request fails there. A thread's request is identified by the end of its
 * arena and the number of bytes.
 */
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/store/log.h"
#include "record/sync/heap.h"

static void failure(struct thr *t, const char *at, uint64_t n)
{
	int64_t ret = (int64_t)at;
	uint64_t len = sizeof(n);

	ev(t, RLOG_CALL, 0, RLOG_CALL_NO_MEMORY, 0);
	ev_done(t);
	ev_callret(t, &ret, &n, &len);
	shim_leave(t);
}

/* Are the thread's next records the failure of this request? */
static int is_next(const struct thr *t, const char *at, uint64_t n)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;
	uint64_t wanted = 0;

	if (!turn_record_ahead(t, &p, &r) || r.kind != RLOG_CALL || r.op[0] != RLOG_CALL_NO_MEMORY)
		return 0;
	do {
		if (!turn_record_ahead(t, &p, &r))
			return 0;
	} while (r.kind != RLOG_CALLRET);
	if (r.payload_len == sizeof(wanted))
		__builtin_memcpy(&wanted, r.payload, sizeof(wanted));
	return r.op[0] == (uint64_t)at && wanted == n;
}

void heap_refused(const char *at, uint64_t n)
{
	struct thr *t = G.mode == SHIM_RECORD ? shim_enter() : 0;

	if (t)
		failure(t, at, n);
}

int heap_was_refused(const char *at, uint64_t n)
{
	struct thr *t = G.mode == SHIM_REPLAY ? self : 0;

	if (!t || t->depth || !is_next(t, at, n) || !shim_enter())
		return 0;
	failure(t, at, n);
	return 1;
}
