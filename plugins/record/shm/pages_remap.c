/* SPDX-License-Identifier: MIT */
/* pages_remap.c: mremap of memory that processes of a group share (pages.c). */
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"
#include "record/store/log.h"

#include <string.h>

static int is_pinned(const struct mapping *m)
{
	for (uint32_t i = 0; m->state && i < pages_of(m); i++)
		if (m->state[i] & PINNED)
			return 1;
	return 0;
}

int pages_move(struct thr *t, uint64_t from, uint64_t len, uint64_t to_len)
{
	struct mapping *m = mapping_of(from);

	len = (len + PAGE - 1) & ~(PAGE - 1);
	if (m && to_len && m->lo == from && m->hi == from + len && !is_pinned(m)) {
		/* the part of the file that becomes visible may have changed since the file was mapped */
		if (m->kind == REGION_FILE && to_len > len)
			group_begin(t);
		if (G.mode == SHIM_RECORD && m->state) {
			pages_settle();
			/* the kernel moves only memory that has one protection throughout */
			pages_set(m, 0, pages_of(m), STALE);
		}
		return 1;
	}
	if (G.group && G.mode == SHIM_RECORD) {
		note(RLOG_NOTE_UNSUPPORTED, SYS_mremap,
		     "mremap of a part of memory that processes share: not followed any more");
		pages_touch((void *)from, len, 0);
		raw3(SYS_mprotect, from, len, PROT_READ | PROT_WRITE);
	}
	pages_unmapped(from, len);
	return 0;
}

void pages_moved(uint64_t from, uint64_t to, uint64_t len)
{
	struct mapping *m = mapping_of(from), was;
	uint32_t n, keep;

	if (!m)
		return;
	len = (len + PAGE - 1) & ~(PAGE - 1);
	was = *m;
	*m = (struct mapping){0}; /* so that it does not overlap itself */
	pages_unmapped(to, len);
	*m = was;
	m->lo = to;
	m->hi = to + len;
	mappings_lock();
	mappings_widen(m->lo, m->hi);
	mappings_unlock();
	if (!was.state)
		return;
	n = pages_of(m);
	keep = n < pages_of(&was) ? n : pages_of(&was);
	m->shadow = pages_shadow(m);
	if (raw_failed(m->shadow))
		shim_fail("no memory to follow shared memory");
	mapping_states(m);
	memset(m->state, (was.state[0] & MAY) | STALE, n);
	memcpy(m->state, was.state, keep);
	memcpy(m->shadow, was.shadow, keep * PAGE);
	pages_set(m, 0, n, STALE);
	mapping_forget(&was);
}

void pages_duplicated(uint64_t from, uint64_t to, uint64_t len)
{
	static uint32_t serial;
	struct mapping *m = mapping_of(from), was, *n;

	if (!m)
		return;
	/* anonymous memory has no number that identifies it; no device has this one */
	if (!m->dev && !m->ino) {
		m->dev = ~1ull;
		m->ino = (uint64_t)G.process << 32 | __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
	}
	was = *m;
	if (G.mode == SHIM_REPLAY)
		raw_mmap((void *)to, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	pages_mapped(to, len, mapping_prot(&was, from), was.kind, was.dev, was.ino, (from - was.lo) + was.first * PAGE,
		     was.kept[1] ? was.kept : 0);
	n = mapping_of(to);
	if (n && n->state)
		n->region = was.region;
}
