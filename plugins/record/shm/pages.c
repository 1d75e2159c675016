/* SPDX-License-Identifier: MIT */
/*
 * pages.c: memory that the processes of a group share, page by page (group.h).
 *
 * Each process follows its own mappings by their protection. A page is
 *
 *	STALE	not accessible: somebody else changed it, or this process never looked at it
 *	READ	read-only: the process has seen all that is in it
 *	WRITE	the process writes it: at the end of its turn it goes into the group's journal
 *
 * A page that this process has written in its last turns stays in WRITE while others write it in their turns: what they
 * wrote is logged when this process's next turn begins, which costs less than a fault at its first access.
 *
 * Pages with robust mutexes are PINNED: always writable, so that the kernel can mark the mutexes when a process dies,
 * and compared at the beginning of each turn.
 *
 * The first access of a STALE page compares it with the shadow, which is what this process knows of it, and logs what
 * differs: a PAGE event. A replay has plain private memory and takes a PAGE over as soon as it is the next record of
 * the thread that runs, before the code that looks at it.
 *
 * A PAGE without bytes: here a thread accessed a page past the end of its mapped file and got a SIGBUS; the file may
 * have been longer when it was mapped. The replay makes that access a SIGBUS too. A SIGBUS in a replay without such a
 * record means that the file has grown since: the page becomes zeros, until a PAGE with bytes comes.
 */
#include "record/shm/pages.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/chaos.h"
#include "record/shm/group.h"
#include "record/store/log.h"

#include <string.h>
#include <sys/uio.h>

/* ---- protection ---- */

static long protection(uint8_t s)
{
	long exec = (s & MAY_EXEC) ? PROT_EXEC : 0;

	switch ((s & PINNED) ? WRITE : s & STATE) {
	case WRITE:
		return exec | ((s & MAY_WRITE) ? PROT_READ | PROT_WRITE : (s & MAY_READ) ? PROT_READ : PROT_NONE);
	case READ:
		return exec | ((s & (MAY_READ | MAY_WRITE)) ? PROT_READ : PROT_NONE);
	}
	return PROT_NONE;
}

/* One call for a run of equal ones. */
void pages_set(struct mapping *m, uint32_t i, uint32_t end, uint8_t state)
{
	while (i < end) {
		uint32_t from = i;
		uint8_t s;

		if (m->state[i] & GONE) {
			i++;
			continue;
		}
		s = (uint8_t)((m->state[i] & ~(STATE | OWNED)) | state);
		for (; i < end && (uint8_t)((m->state[i] & ~(STATE | OWNED)) | state) == s; i++) {
			m->use[i].unknown |= (m->state[i] & OWNED) != 0;
			m->state[i] = s;
		}
		if (raw3(SYS_mprotect, page_at(m, from), (i - from) * PAGE, protection(s)) < 0)
			shim_fail("too many pieces of shared memory (vm.max_map_count)");
	}
}

int page_is_backed(const struct mapping *m, const uint8_t *page)
{
	uint8_t probe;
	struct iovec l = {&probe, 1}, r = {(void *)page, 1};

	return m->kind != REGION_FILE || raw6(SYS_process_vm_readv, G.pid, (long)&l, 1, (long)&r, 1, 0) == 1;
}

void pages_log(struct thr *t, const uint8_t *at, const uint8_t *page, const uint8_t *was)
{
	/* used by the process that has the turn; the stack may be a small one for signal handlers */
	static uint8_t diff[2 * PAGE];
	uint64_t addr = (uint64_t)at, n = was ? pages_diff(was, page, diff) : pages_whole(page, diff);
	const uint8_t *cur = t->log.cur;

	if (!n)
		return;
	ev_bytes(t, RLOG_PAGE, &addr, 1, diff, n);
	if (G.chaos)
		chaos_ops.page(t, cur);
}

/* ---- one page ---- */

/* Notes what the process knows of the page, in all mappings of it. In a replay these are the same memory (alias.c). */
void pages_know(struct mapping *m, uint32_t i, const uint8_t *now)
{
	struct mapping *o;

	pages_copy_changes(shadow_at(m, i), now);
	m->use[i].unknown = 0;
	for (uint32_t k = 0, j; (o = mapping_alias(m, i, &k, &j));)
		if (o->state)
			pages_copy_changes(shadow_at(o, j), now);
}

void pages_stale(uint32_t region, uint32_t page)
{
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];
		uint32_t j = page - m->first;

		if (!m->state || (region != REGIONS_ALL && m->region != region))
			continue;
		if (region == REGIONS_ALL || page == PAGES_ALL)
			pages_set(m, 0, pages_of(m), STALE);
		else if (page >= m->first && j < pages_of(m) && (m->state[j] & STATE) != STALE)
			pages_set(m, j, j + 1, STALE);
	}
}

/* ---- replay ---- */

static void apply(const struct rlog_rec *r)
{
	uint8_t *page = (uint8_t *)r->op[0];
	const uint8_t *p = r->payload, *end = p + r->payload_len;
	struct mapping *m = mapping_of((uint64_t)page);
	uint16_t at, n;

	if (!m)
		shim_fail("shared memory is not mapped where it was when recording");
	raw3(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE | ((m->may & MAY_EXEC) ? PROT_EXEC : 0));
	/* the page was past the end of the file's copy when it was mapped: the file has grown since */
	if (!page_is_backed(m, page))
		alias_make_room(m, (uint32_t)(((uint64_t)page - m->lo) / PAGE));
	for (; p + 4 <= end; p += 4 + n) {
		memcpy(&at, p, 2);
		memcpy(&n, p + 2, 2);
		if (p + 4 + n > end || at + n > (int)PAGE)
			shim_fail("the record of a page is damaged");
		memcpy(page + at, p + 4, n);
	}
}

void pages_replay(struct thr *t)
{
	while (unlikely(turn_next_is(t, RLOG_PAGE)) && !t->past_end) {
		const uint8_t *p = t->log.rd;
		struct rlog_rec r;

		if (rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK)
			return;
		turn_before_event(t);
		if (r.payload_len) {
			apply(&r);
		} else {
			t->past_end = r.op[0];
			turn_map_past_end(r.op[0]);
		}
		turn_skip_page(t);
	}
}
