/* SPDX-License-Identifier: MIT */
/* tell.c: see tell.h. */
#include "record/core/tell.h"
#include "record/core/state.h"
#include "rlog/replay.h"

#include <string.h>

#define FORGET_BYTES 256 /* bytes of a block: for a larger one, a new epoch is cheaper */

struct replay_report *shim_report;
const void *shim_tell_back;

/* The memory is allocated anew: none of its accesses is known. */
static void forget(struct replay_known *k, uint64_t addr, uint64_t n)
{
	for (unsigned size = 0; size < REPORT_KNOWN_SIZES; size++) {
		uint64_t from = (addr - (1u << size)) >> size, to = (addr + n) >> size;

		for (unsigned way = 0; k->used[0][size] && way <= k->used[1][size]; way++)
			for (uint64_t at = from; at <= to; at++)
				k->is[way][size][at % REPORT_KNOWN] = 0;
	}
}

static void new_epoch(struct replay_known *k)
{
	k->epoch += k->one_epoch;
	k->minus_epoch = -k->epoch;
}

/* Ends an epoch where rlog/report.h says so. */
static void see_known(enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	struct replay_known *k = (struct replay_known *)REPLAY_KNOWN_ADDR;

	if (kind == REPORT_ALLOC && b <= FORGET_BYTES)
		forget(k, a, b);
	else if (kind == REPORT_EVENT || kind == REPORT_SYNC || kind == REPORT_ALLOC)
		new_epoch(k);
	if (kind == REPORT_EVENT)
		memset(k->passes, 0, k->sites * sizeof(*k->passes));
}

/* A new segment begins, in which nothing has been executed. */
static void forget_calls(void)
{
	struct replay_calls *k = (struct replay_calls *)REPLAY_KNOWN_ADDR;

	for (uint64_t at = 0; at * REPORT_CALLS_USED < k->n; at++) {
		if (k->used[at])
			memset(k->passes + at * REPORT_CALLS_USED, 0, REPORT_CALLS_USED * sizeof(*k->passes));
		k->used[at] = 0;
	}
	k->none = 0;
}

void shim_tell_taken(void)
{
	struct replay_known *k = (struct replay_known *)REPLAY_KNOWN_ADDR;

	if (!shim_report || shim_report->filter != REPORT_NEW || k->epoch >> REPORT_EPOCH_BIT < REPORT_EPOCHS)
		return;
	if (raw3(SYS_madvise, k->is, sizeof(k->is), 4 /* MADV_DONTNEED */))
		memset(k->is, 0, sizeof(k->is));
	k->epoch = k->one_epoch;
	k->minus_epoch = -k->epoch;
}

__attribute__((noinline, cold)) void shim_tell(enum replay_report_kind kind, uint64_t pc, uint64_t a, uint64_t b)
{
	static const uint8_t words[] = {
#define X(name, words) words,
		REPORT_KINDS(X)
#undef X
	};
	struct replay_report *r = shim_report;
	uint64_t e[] = {(uint64_t)kind << REPORT_KIND_SHIFT | pc, a, b};

	if (r->filter == REPORT_NEW)
		see_known(kind, a, b);
	if (kind == REPORT_EVENT && report_has_calls(r))
		forget_calls();
	if (r->cur + sizeof(e) > r->end) {
		r->lost++;
		return;
	}
	memcpy((void *)r->cur, e, words[kind] * sizeof(*e));
	r->cur += words[kind] * sizeof(*e);
}

unsigned shim_code_changes;

int shim_code_has(uint64_t lo, uint64_t hi)
{
	const struct replay_report_code *c = (const struct replay_report_code *)shim_report->code_at;

	for (uint64_t k = 0; k < shim_report->codes; k++)
		if (c[k].lo < hi && c[k].hi > lo)
			return 1;
	return 0;
}

int shim_code_add(uint64_t lo, uint64_t hi)
{
	struct replay_report_code *c = (struct replay_report_code *)shim_report->code_at;

	shim_code_changes++;
	if (shim_report->codes >= shim_report->codes_max)
		return 0;
	c[shim_report->codes++] = (struct replay_report_code){lo, hi};
	return 1;
}

void shim_code_changed(uint64_t lo, uint64_t hi)
{
	struct replay_report_code *c = (struct replay_report_code *)shim_report->code_at, was;

	shim_code_changes++;
	for (uint64_t k = shim_report->codes; k; k--) {
		was = c[k - 1];
		if (was.lo >= hi || was.hi <= lo)
			continue;
		c[k - 1] = c[--shim_report->codes];
		if (was.lo < lo)
			shim_code_add(was.lo, lo);
		if (was.hi > hi)
			shim_code_add(hi, was.hi);
	}
}
