/* SPDX-License-Identifier: MIT */
/* pages_fault.c: pages of shared memory become accessible when the program, or a system call, accesses them. */
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"

#include <sys/uio.h>

/* Has the process seen all that is in the page through another mapping? What it has written since is its own. */
static int seen_elsewhere(const struct mapping *m, uint32_t i)
{
	struct mapping *o;

	for (uint32_t k = 0, j; (o = mapping_alias(m, i, &k, &j));)
		if (o->state && (o->state[j] & STATE) != STALE)
			return 1;
	return 0;
}

/* Makes a page accessible. 1: something was done, and the access may be tried again. */
static int open_page(struct thr *t, struct mapping *m, uint32_t i, int writes)
{
	uint8_t s = m->state[i];

	if ((s & (GONE | PINNED)) || !(s & (writes ? MAY_WRITE : MAY_READ | MAY_WRITE)))
		return 0;
	if ((s & STATE) == WRITE || ((s & STATE) == READ && !writes))
		return 0;
	if ((s & STATE) == STALE) {
		int seen = seen_elsewhere(m, i);

		writes |= (s & MAY_WRITE) && m->use[i].writes; /* as before, when it had looked at it first, too */
		pages_set(m, i, i + 1, writes ? WRITE : READ);
		pages_opened(m, i);
		if (!seen && page_is_backed(m, page_at(m, i))) {
			pages_log(t, page_at(m, i), page_at(m, i), known_at(m, i));
			pages_know(m, i, page_at(m, i));
		}
	} else {
		pages_set(m, i, i + 1, WRITE);
	}
	if (writes)
		pages_list(m, i);
	return 1;
}

int pages_fault(struct thr *t, uint64_t addr, int writes)
{
	struct mapping *m;
	int depth, ret;

	if (!G.group || !t || !(m = mapping_of(addr)))
		return 0;
	if (G.mode != SHIM_RECORD) {
		/* recording has ended, so the pages are not followed any more */
		return G.mode == SHIM_OFF && raw3(SYS_mprotect, addr & ~(PAGE - 1), PAGE, PROT_READ | PROT_WRITE) == 0;
	}
	depth = t->depth;
	t->depth = depth + 1;
	group_fault();
	t->selector = 0;
	ret = open_page(t, m, (uint32_t)((addr - m->lo) / PAGE), writes);
	task_not_computing(t);
	t->depth = depth;
	t->selector = !depth;
	return ret;
}

/*
 * Replay: the file has grown since it was mapped, as by programs that map more than there is and extend the file later.
 * The recording's copy is as long as the file was; zeros follow, or what a PAGE record contains. 0: the recorded
 * program got a SIGBUS here.
 */
static int has_grown(const struct thr *t, uint64_t page)
{
	if (turn_next_is(t, RLOG_CRASH))
		return 0;
	return pages_grown(page) || !raw_failed(raw_mmap((void *)page, PAGE, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

static int replay_past_end(struct thr *t, uint64_t page)
{
	if (t->past_end != page)
		return has_grown(t, page);
	t->past_end = 0;
	/* there may be no event before the next one, nor before the program is interrupted */
	pages_replay(t);
	turn_seek(t);
	return 0;
}

int pages_past_end(struct thr *t, uint64_t addr, ucontext_t *uc)
{
	uint64_t page = addr & ~(PAGE - 1);
	int depth, ret = 0;

	if (!t || (G.mode != SHIM_RECORD && G.mode != SHIM_REPLAY))
		return 0;
	own_stack_enter(t, uc);
	depth = t->depth;
	t->depth = depth + 1;
	t->selector = 0;
	if (G.mode == SHIM_REPLAY)
		ret = replay_past_end(t, page);
	else if (!depth)
		ev_bytes(t, RLOG_PAGE, &page, 1, &page, 0);
	t->depth = depth;
	t->selector = !depth;
	return ret;
}

void pages_touch(const void *p, uint64_t len, int writes)
{
	uint64_t a = (uint64_t)p, end = a + len;

	if (!len || !pages_range(p, len))
		return;
	for (a &= ~(PAGE - 1); a < end; a += PAGE) {
		struct mapping *m = mapping_of(a);

		if (m && self)
			open_page(self, m, (uint32_t)((a - m->lo) / PAGE), writes);
	}
}

void pages_pin(const void *p)
{
	struct mapping *m = mapping_of((uint64_t)p);
	uint32_t i;

	if (!m || !m->state)
		return;
	i = (uint32_t)(((uint64_t)p - m->lo) / PAGE);
	if (m->state[i] & PINNED)
		return;
	pages_touch(p, 1, 1);
	pages_pin_page(m, i);
}

long sys_put(void *to, const void *from, size_t n)
{
	struct iovec local = {(void *)from, n}, remote = {to, n};

	if (unlikely(G.group) && G.mode == SHIM_RECORD)
		pages_touch(to, n, 1);
	return raw6(SYS_process_vm_writev, raw0(SYS_getpid), (long)&local, 1, (long)&remote, 1, 0) == (long)n ? 0 : -14;
}
