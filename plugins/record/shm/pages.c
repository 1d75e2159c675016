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
 * A page that this process has written in its last turns stays so while others write it in theirs: what they wrote is
 *logged when the next turn begins, which costs less than to find out when it is looked at.
 *
 * Pages with robust mutexes are PINNED: always writable, for the kernel to mark them when a process dies, and looked
 * at in each turn's beginning.
 *
 * The first access of a STALE page compares it with the shadow, which is what this process knows of it, and
 * logs what differs: a PAGE event. A replay has plain private memory and takes a PAGE over as soon as it is the
 * next record of the thread that runs, before the code that looks at it.
 */
#include "record/shm/pages.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/store/log.h"

#include <string.h>
#include <sys/uio.h>

#define DIRTY_MAX 65536u
#define QUIET_TURNS 4u
static struct dirty {
	uint16_t map;
	uint16_t quiet; /* turns in which it was not written, one behind the other */
	uint32_t page;
} *const dirty = (struct dirty *)SHIM_DIRTY_ADDR;
static int dirty_mapped; /* in the parent, too */
static uint32_t ndirty;

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

/* Sets the states of pages [i, end) and protects them accordingly; one call for a run of equal ones. */
void pages_set(struct mapping *m, uint32_t i, uint32_t end, uint8_t state)
{
	while (i < end) {
		uint32_t from = i;
		uint8_t s;

		if (m->state[i] & GONE) {
			i++;
			continue;
		}
		s = (uint8_t)((m->state[i] & ~STATE) | state);
		for (; i < end && (uint8_t)((m->state[i] & ~STATE) | state) == s; i++)
			m->state[i] = s;
		if (raw3(SYS_mprotect, page_at(m, from), (i - from) * PAGE, protection(s)) < 0)
			shim_fail("too many pieces of shared memory (vm.max_map_count)");
	}
}

/* ---- what differs ---- */

/* Pieces: offset (2 bytes), length (2 bytes), bytes. At most 2 * PAGE. */
static uint64_t encode(const uint8_t *was, const uint8_t *now, uint8_t *out)
{
	const uint64_t *a = (const uint64_t *)was, *b = (const uint64_t *)now;
	uint8_t *p = out;

	for (uint32_t i = 0; i < PAGE / 8; i++) {
		uint32_t from = i;
		uint16_t at = (uint16_t)(i * 8), n;

		while (i < PAGE / 8 && a[i] != b[i])
			i++;
		if (i == from)
			continue;
		n = (uint16_t)((i - from) * 8);
		memcpy(p, &at, 2);
		memcpy(p + 2, &n, 2);
		memcpy(p + 4, now + at, n);
		p += 4 + n;
	}
	return (uint64_t)(p - out);
}

int page_is_backed(const struct mapping *m, const uint8_t *page)
{
	uint8_t probe;
	struct iovec l = {&probe, 1}, r = {(void *)page, 1};

	return m->kind != REGION_FILE || raw6(SYS_process_vm_readv, G.pid, (long)&l, 1, (long)&r, 1, 0) == 1;
}

static void rec_page(struct thr *t, const uint8_t *at, const uint8_t *page, const uint8_t *was)
{
	static uint8_t diff[2 * PAGE]; /* who has the turn; the stack may be a small one for signals */
	uint64_t addr = (uint64_t)at, n = encode(was, page, diff);

	if (n)
		ev_bytes(t, RLOG_PAGE, &addr, 1, diff, n);
}

/* ---- one page ---- */

static void add_dirty(const struct mapping *m, uint32_t i)
{
	if (!dirty_mapped) {
		if (raw_failed(raw_mmap(dirty, DIRTY_MAX * sizeof(*dirty), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0)))
			shim_fail("no memory for the list of shared pages that were written");
		dirty_mapped = 1;
	}
	if (ndirty == DIRTY_MAX)
		pages_settle();
	dirty[ndirty++] = (struct dirty){.map = (uint16_t)(m - pages.maps), .page = i};
}

/* What the process knows of the page, whichever mapping it looks at. In a replay those are the same memory (alias.c).
 */
static void know(struct mapping *m, uint32_t i, const uint8_t *now)
{
	struct mapping *o;

	if (memcmp(shadow_at(m, i), now, PAGE))
		memcpy(shadow_at(m, i), now, PAGE);
	for (uint32_t k = 0, j; (o = mapping_alias(m, i, &k, &j));)
		if (o->state && memcmp(shadow_at(o, j), now, PAGE))
			memcpy(shadow_at(o, j), now, PAGE);
}

/* The process's writes to it are known to itself and told to the others. 1: there were some. */
static int publish(struct mapping *m, uint32_t i)
{
	if (!memcmp(shadow_at(m, i), page_at(m, i), PAGE))
		return 0;
	know(m, i, page_at(m, i));
	group_journal(m->region, m->first + i, 1);
	return 1;
}

/* Has the process seen all that is in the page at another address? What it has written since is its own. */
static int seen_elsewhere(const struct mapping *m, uint32_t i)
{
	struct mapping *o;

	for (uint32_t k = 0, j; (o = mapping_alias(m, i, &k, &j));)
		if (o->state && (o->state[j] & STATE) != STALE)
			return 1;
	return 0;
}

/* Makes a page accessible. 1: it changed something, or may be tried again. */
static int open_page(struct thr *t, struct mapping *m, uint32_t i, int writes)
{
	uint8_t s = m->state[i];

	if ((s & (GONE | PINNED)) || !(s & (writes ? MAY_WRITE : MAY_READ | MAY_WRITE)))
		return 0;
	if ((s & STATE) == WRITE || ((s & STATE) == READ && !writes))
		return 0;
	if ((s & STATE) == STALE) {
		int seen = seen_elsewhere(m, i);

		pages_set(m, i, i + 1, READ);
		if (!seen && page_is_backed(m, page_at(m, i))) {
			rec_page(t, page_at(m, i), page_at(m, i), shadow_at(m, i));
			know(m, i, page_at(m, i));
		}
	}
	if (writes && page_is_backed(m, page_at(m, i))) {
		pages_set(m, i, i + 1, WRITE);
		add_dirty(m, i);
	}
	return 1;
}

int pages_fault(struct thr *t, uint64_t addr, int writes)
{
	struct mapping *m;
	int depth, ret;

	if (!G.group || !t || !(m = mapping_of(addr)))
		return 0;
	if (G.mode != SHIM_RECORD) {
		/* recording has ended: nobody follows them any more */
		return G.mode == SHIM_OFF && raw3(SYS_mprotect, addr & ~(PAGE - 1), PAGE, PROT_READ | PROT_WRITE) == 0;
	}
	depth = t->depth;
	t->depth = depth + 1;
	group_fault();
	t->selector = 0;
	ret = open_page(t, m, (uint32_t)((addr - m->lo) / PAGE), writes);
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

static int is_mapped_once(uint32_t region, uint32_t page)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < pages.nmaps; k++) {
		const struct mapping *m = &pages.maps[k];

		n += m->state && m->region == region && page >= m->first && page - m->first < pages_of(m);
	}
	return n == 1;
}

/* Another process has written it. One that this process is writing, too, is looked at now. */
static void others_wrote(uint32_t region, uint32_t page)
{
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];
		uint32_t j = page - m->first;

		if (!m->state || m->region != region || page < m->first || j >= pages_of(m))
			continue;
		if (!self || m->kind != REGION_ANON || (m->state[j] & (STATE | GONE | PINNED)) != WRITE ||
		    !is_mapped_once(region, page))
			break;
		if (!memcmp(shadow_at(m, j), page_at(m, j), PAGE))
			return;
		rec_page(self, page_at(m, j), page_at(m, j), shadow_at(m, j));
		memcpy(shadow_at(m, j), page_at(m, j), PAGE);
		return;
	}
	pages_stale(region, page);
}

/* ---- turns ---- */

#define PINS 64u
static struct dirty pins[PINS];
static uint32_t npins;

void pages_pin(const void *p)
{
	struct mapping *m = mapping_of((uint64_t)p);
	uint32_t i;

	if (!m || !m->state || npins == PINS)
		return;
	i = (uint32_t)(((uint64_t)p - m->lo) / PAGE);
	if (m->state[i] & PINNED)
		return;
	pages_touch(p, 1, 1);
	m->state[i] |= PINNED;
	pages_set(m, i, i + 1, WRITE);
	pins[npins++] = (struct dirty){.map = (uint16_t)(m - pages.maps), .page = i};
}

void pages_kernel_word(struct thr *t, const uint32_t *word)
{
	struct mapping *m = mapping_of((uint64_t)word);
	static uint8_t page[PAGE];
	uint32_t i;
	const uint32_t *known;

	if (!m || !m->state)
		return;
	i = (uint32_t)(((uint64_t)word - m->lo) / PAGE);
	known = (const uint32_t *)(shadow_at(m, i) + ((uint64_t)word & (PAGE - 1)));
	if (!((*word & ~*known) & FUTEX_OWNER_DIED))
		return;
	memcpy(page, shadow_at(m, i), PAGE);
	*(uint32_t *)(page + ((uint64_t)word & (PAGE - 1))) = *word;
	rec_page(t, page_at(m, i), page, shadow_at(m, i));
	know(m, i, page);
}

/* Changes of others, and of the kernel, are logged at the beginning of a turn; the process's own behind it. */
static void look_at_pins(int leaving)
{
	for (uint32_t k = 0; k < npins; k++) {
		struct mapping *m = &pages.maps[pins[k].map];
		uint32_t i = pins[k].page;

		if (!m->state || i >= pages_of(m) || !(m->state[i] & PINNED) || (m->state[i] & GONE))
			continue;
		if (leaving) {
			publish(m, i);
		} else if (self && memcmp(shadow_at(m, i), page_at(m, i), PAGE)) {
			rec_page(self, page_at(m, i), page_at(m, i), shadow_at(m, i));
			know(m, i, page_at(m, i));
		}
	}
}

/*
 * Small files: did a process outside of the recording write there? Nobody else tells. What it wrote is seen at
 * events only.
 */
#define WATCHED 16u

static void watch(struct mapping *m)
{
	static uint32_t told;
	uint32_t n = pages_of(m);
	char text[100], *p;

	if (!m->state || m->kind == REGION_ANON || n > WATCHED)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if ((m->state[i] & STATE) != READ || (m->state[i] & (GONE | PINNED)) ||
		    !(m->state[i] & (MAY_READ | MAY_WRITE)) || !page_is_backed(m, page_at(m, i)) ||
		    !memcmp(page_at(m, i), shadow_at(m, i), PAGE))
			continue;
		pages_set(m, i, i + 1, STALE);
		if (told++)
			continue;
		p = fmt_str(text, text + sizeof(text), "memory that a process outside of the recording writes: inode ");
		p = fmt_dec(p, text + sizeof(text), m->ino, 1);
		note(RLOG_NOTE_UNSUPPORTED, (int64_t)m->ino, text);
	}
}

void pages_enter(uint64_t *pos, uint64_t head, const uint64_t *journal, uint32_t size, uint32_t me)
{
	if (head - *pos > size) {
		*pos = head;
		pages_stale(REGIONS_ALL, PAGES_ALL);
	}
	for (; *pos < head; ++*pos) {
		uint64_t e = journal[*pos % size];

		if (e >> 48 != me)
			others_wrote((uint32_t)(e >> 32) & 0xffff, (uint32_t)e);
	}
	for (uint32_t k = 0; k < pages.nmaps; k++)
		if (pages.maps[k].hi)
			watch(&pages.maps[k]);
	look_at_pins(0);
}

/* Pages that were not written this time are watched again. */
void pages_leave(void)
{
	uint32_t kept = 0;

	look_at_pins(1);
	for (uint32_t k = 0; k < ndirty; k++) {
		struct mapping *m = &pages.maps[dirty[k].map];
		uint32_t i = dirty[k].page;

		if (!m->hi || i >= pages_of(m) || (m->state[i] & STATE) != WRITE || (m->state[i] & (GONE | PINNED)))
			continue;
		dirty[k].quiet = publish(m, i) ? 0 : dirty[k].quiet + 1;
		if (dirty[k].quiet < (m->kind == REGION_ANON ? QUIET_TURNS : 1))
			dirty[kept++] = dirty[k];
		else
			pages_set(m, i, i + 1, READ);
	}
	ndirty = kept;
}

void pages_settle(void)
{
	pages_leave();
	for (uint32_t k = 0; k < ndirty; k++)
		pages_set(&pages.maps[dirty[k].map], dirty[k].page, dirty[k].page + 1, READ);
	ndirty = 0;
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
	if (!page_is_backed(m, page)) /* past the end of the file's copy when it was mapped: the file has grown since */
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
	while (unlikely(turn_next_is(t, RLOG_PAGE))) {
		const uint8_t *p = t->log.rd;
		struct rlog_rec r;

		if (rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK)
			return;
		apply(&r);
		turn_skip_page(t);
	}
}

long sys_put(void *to, const void *from, size_t n)
{
	struct iovec local = {(void *)from, n}, remote = {to, n};

	if (unlikely(G.group) && G.mode == SHIM_RECORD)
		pages_touch(to, n, 1);
	return raw6(SYS_process_vm_writev, raw0(SYS_getpid), (long)&local, 1, (long)&remote, 1, 0) == (long)n ? 0 : -14;
}
