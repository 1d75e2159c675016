/* SPDX-License-Identifier: MIT */
/*
 * pages_turn.c: what a process that shares memory does at the beginning and at the end of each of its turns (group.c).
 *
 * What it wrote is told to the others by a CHANGED entry in the group's journal. Those that have the page accessible
 * log it at the beginning of their next turns, the others at their next access. To find out what it wrote, the pages
 * that it can write are compared with its shadow at the end of each turn. They are in a list:
 *
 *	listed	others may have seen it since this process's last CHANGED entry
 *	OWNED	no other process has: for each of them it is STALE, or that entry is still unread. Nothing needs to
 *		be told, so it is not compared. The first process that accesses it (by a fault, or after CHANGED)
 *		writes a LOOKED entry; after that it is listed again, with a copy of its contents at that time
 *
 * While a page is OWNED, its shadow is older than what the process wrote there. That copy makes the shadow right again.
 * If the copy does not exist any more, the page is `unknown`: the next time, all of it is logged.
 *
 * A page is compared, without an access that would ask for it, only while that pays: a fault takes as long as some
 * fifty comparisons. `heat` says how often the process wrote it lately. After some turns in which it was not written it
 * is protected; and after some CHANGED entries of others it becomes STALE.
 *
 * Pages with robust mutexes are PINNED: compared at both ends of each turn.
 */
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/group_page.h"
#include "record/shm/pages.h"
#include "record/store/log.h"

#include <linux/futex.h>
#include <string.h>

#define LIST_MAX 65536u
#define QUIET_MIN 12u
#define LOOKS_MIN 8u
#define HEAT_STEP 4u
#define HEAT_MAX 60u
/* entries of the journal: instead of reading more than these, pages are looked at again when they are accessed */
#define MANY 8192u

static struct listed {
	uint16_t map;
	uint16_t quiet; /* successive turns in which the page was not written */
	uint32_t page;
} *const list = (struct listed *)SHIM_DIRTY_ADDR;
RLOG_AREA_FITS(SHIM_DIRTY_ADDR, LIST_MAX * sizeof(struct listed), SHIM_HELD_ADDR);
static int list_mapped; /* a fork inherits it */
static uint32_t nlist;

/* Small files are checked for writes by processes outside the recording. */
#define WATCHED 16u

static int is_watched(const struct mapping *m)
{
	return m->kind == REGION_FILE && pages_of(m) <= WATCHED;
}

void pages_list(struct mapping *m, uint32_t i)
{
	m->state[i] &= (uint8_t)~OWNED;
	m->use[i].writes = 1;
	if (m->use[i].listed)
		return;
	if (!list_mapped) {
		if (raw_failed(raw_mmap(list, LIST_MAX * sizeof(*list), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0)))
			shim_fail("no memory for the list of shared pages that were written");
		list_mapped = 1;
	}
	if (nlist == LIST_MAX) {
		uint8_t s = m->state[i];

		pages_settle();
		pages_set(m, i, i + 1, s & STATE);
	}
	m->use[i].listed = 1;
	list[nlist++] = (struct listed){.map = (uint16_t)(m - pages.maps), .page = i};
}

/* While a turn begins: the turn before. */
static uint32_t last_turn(void)
{
	return (uint32_t)group.p->slot[group.me - 1].turn;
}

static uint8_t looks(const struct mapping *m, uint32_t i)
{
	return (uint8_t)(LOOKS_MIN + m->use[i].heat / 2);
}

void pages_opened(struct mapping *m, uint32_t i)
{
	m->use[i].looks = looks(m, i);
	group_look(m->region, m->first + i, page_is_backed(m, page_at(m, i)) ? page_at(m, i) : 0);
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

/* Takes the process's writes to the page into its shadow, and tells the others. 1: there were some. */
static int publish(struct mapping *m, uint32_t i)
{
	struct page_use *u = &m->use[i];

	if (!page_is_backed(m, page_at(m, i)) || (!u->unknown && pages_equal(shadow_at(m, i), page_at(m, i))))
		return 0;
	pages_know(m, i, page_at(m, i));
	group_journal(m->region, m->first + i, 1);
	u->heat = (uint8_t)(u->heat < HEAT_MAX ? u->heat + HEAT_STEP : HEAT_MAX);
	u->looks = looks(m, i);
	return 1;
}

/* ---- what others did ---- */

/* Looks at a page that another process has written, if this one uses it. 0: it does not. */
static int look(struct mapping *m, uint32_t i)
{
	uint8_t s = m->state[i];

	if ((s & (GONE | PINNED)) || !(s & (MAY_READ | MAY_WRITE)) || !m->use[i].looks || !self ||
	    !is_mapped_once(m->region, m->first + i) || !page_is_backed(m, page_at(m, i)))
		return 0;
	m->use[i].looks--;
	group_look(m->region, m->first + i, page_at(m, i));
	if (!m->use[i].unknown && pages_equal(shadow_at(m, i), page_at(m, i)))
		return 1;
	pages_log(self, page_at(m, i), page_at(m, i), known_at(m, i));
	pages_know(m, i, page_at(m, i));
	return 1;
}

static void others_wrote(uint32_t region, uint32_t page)
{
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];
		uint32_t j = page - m->first;

		if (m->state && m->region == region && page >= m->first && j < pages_of(m) &&
		    (m->state[j] & STATE) != STALE && look(m, j))
			return;
	}
	pages_stale(region, page);
}

void pages_disown(struct mapping *m, uint32_t i)
{
	m->use[i].unknown = 1;
	pages_list(m, i);
}

/*
 * Another process has looked at a page which this one had OWNED, and which was as in base then. Without base, the page
 * is as this process left it; the shadow has that if it was in the process's last turn.
 */
static void disown(struct mapping *m, uint32_t i, const void *base)
{
	if (!(m->state[i] & OWNED))
		return;
	if (base)
		pages_copy_changes(shadow_at(m, i), base);
	else if (m->use[i].owned_in != last_turn())
		m->use[i].unknown = 1;
	pages_list(m, i);
}

static void others_looked(uint32_t region, uint32_t page, const void *base)
{
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];
		uint32_t n = m->state && m->region == region ? pages_of(m) : 0, j = page - m->first;

		if (page == PAGES_ALL) {
			for (j = 0; j < n; j++)
				disown(m, j, 0);
		} else if (page >= m->first && j < n) {
			disown(m, j, base);
		}
	}
}

/* ---- pinned pages, and writes from outside ---- */

#define PINS 64u
static struct listed pins[PINS];
static uint32_t npins;

void pages_pin_page(struct mapping *m, uint32_t i)
{
	if (npins == PINS)
		return;
	m->state[i] |= PINNED;
	pages_set(m, i, i + 1, WRITE);
	pins[npins++] = (struct listed){.map = (uint16_t)(m - pages.maps), .page = i};
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
	pages_log(t, page_at(m, i), page, shadow_at(m, i));
	pages_know(m, i, page);
}

/* Changes by others and by the kernel are logged at the beginning of a turn, the process's own after it. */
static void look_at_pins(int leaving)
{
	for (uint32_t k = 0; k < npins; k++) {
		struct mapping *m = &pages.maps[pins[k].map];
		uint32_t i = pins[k].page;

		if (!m->state || i >= pages_of(m) || !(m->state[i] & PINNED) || (m->state[i] & GONE))
			continue;
		if (leaving) {
			publish(m, i);
			continue;
		}
		group_look(m->region, m->first + i, page_at(m, i));
		if (self && !pages_equal(shadow_at(m, i), page_at(m, i))) {
			pages_log(self, page_at(m, i), page_at(m, i), shadow_at(m, i));
			pages_know(m, i, page_at(m, i));
		}
	}
}

/*
 * For small files: did a process outside the recording write there? Nothing tells of that. Such writes are seen at
 * events only.
 */
static void watch(struct mapping *m)
{
	static uint32_t told;
	uint32_t n = pages_of(m);
	char text[100], *p;

	if (!m->state || !is_watched(m))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if ((m->state[i] & STATE) != READ || (m->state[i] & (GONE | PINNED)) ||
		    !(m->state[i] & (MAY_READ | MAY_WRITE)) || !page_is_backed(m, page_at(m, i)) ||
		    pages_equal(page_at(m, i), shadow_at(m, i)))
			continue;
		pages_set(m, i, i + 1, STALE);
		if (told++)
			continue;
		p = fmt_str(text, text + sizeof(text), "memory that a process outside of the recording writes: inode ");
		p = fmt_dec(p, text + sizeof(text), m->ino, 1);
		note(RLOG_NOTE_UNSUPPORTED, (int64_t)m->ino, text);
	}
}

/* ---- turns ---- */

static void read_journal(void)
{
	struct group_page *p = group.p;
	uint64_t head = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);

	if (head - group.pos > MANY) {
		group.pos = head;
		pages_stale(REGIONS_ALL, PAGES_ALL);
	}
	for (; group.pos < head; ++group.pos) {
		const struct journal_entry *e = &p->journal[group.pos % JOURNAL];
		uint32_t region = (uint32_t)(e->what >> 32) & 0xffff;

		if (e->what >> 48 == group.me && group.pos >= group.first)
			continue;
		if (region & LOOKED)
			others_looked(region & ~LOOKED, (uint32_t)e->what, group_base(e->base));
		else
			others_wrote(region, (uint32_t)e->what);
	}
}

void pages_enter(void)
{
	read_journal();
	for (uint32_t k = 0; k < pages.nmaps; k++)
		if (pages.maps[k].hi)
			watch(&pages.maps[k]);
	look_at_pins(0);
}

/* 1: it stays in the list. */
static int leave_page(struct mapping *m, struct listed *l, int ends)
{
	struct page_use *u = &m->use[l->page];

	if ((m->state[l->page] & STATE) != WRITE || (m->state[l->page] & (GONE | PINNED)))
		return 0;
	if (publish(m, l->page)) {
		l->quiet = 0;
		if (!ends || is_watched(m) || !is_mapped_once(m->region, m->first + l->page))
			return 1;
		m->state[l->page] |= OWNED;
		u->owned_in = (uint32_t)group.p->turns;
		group_own(m->region, m->first + l->page);
		return 0;
	}
	if (++l->quiet < (is_watched(m) ? 1 : QUIET_MIN + u->heat / 2))
		return 1;
	u->heat /= 2;
	pages_set(m, l->page, l->page + 1, READ);
	return 0;
}

static void leave(int ends)
{
	uint32_t kept = 0;

	look_at_pins(1);
	for (uint32_t k = 0; k < nlist; k++) {
		struct mapping *m = &pages.maps[list[k].map];

		if (!m->hi || !m->state || list[k].page >= pages_of(m))
			continue;
		if (leave_page(m, &list[k], ends))
			list[kept++] = list[k];
		else
			m->use[list[k].page].listed = 0;
	}
	nlist = kept;
}

void pages_leave(void)
{
	leave(1);
}

void pages_publish(void)
{
	leave(0);
}

static void settle_owned(struct mapping *m, uint32_t i)
{
	if (m->state[i] & (MAY_READ | MAY_WRITE)) {
		m->state[i] &= (uint8_t)~OWNED;
		pages_know(m, i, page_at(m, i));
	}
	pages_set(m, i, i + 1, READ);
}

void pages_settle(void)
{
	leave(0);
	for (uint32_t k = 0; k < nlist; k++) {
		struct mapping *m = &pages.maps[list[k].map];

		m->use[list[k].page].listed = 0;
		pages_set(m, list[k].page, list[k].page + 1, READ);
	}
	nlist = 0;
	for (uint32_t k = 0; k < pages.nmaps; k++) {
		struct mapping *m = &pages.maps[k];

		for (uint32_t i = 0; m->state && i < pages_of(m); i++)
			if (m->state[i] & OWNED)
				settle_owned(m, i);
	}
}
