/* SPDX-License-Identifier: MIT */
/*
 * group_page.c: the page that the processes of a group share: its lock, the journal of changed pages, numbers of shared
 * memory, and waits for objects in it. group.c has the turn.
 */
#include "record/shm/group_page.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/shm/group.h"

#include <signal.h>
#include <string.h>
#include <time.h>

struct group_part group;

uint32_t group_own_pid(void)
{
	return (uint32_t)G.pid | (G.pid_ns ? PID_INNER : 0);
}

void group_lock(void)
{
	uint32_t *word = &group.p->lock, v = 0, mine = group_own_pid();
	long limit[2] = {0, LOOK_NS};

	if (__atomic_compare_exchange_n(word, &v, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	for (;;) {
		v = __atomic_load_n(word, __ATOMIC_RELAXED);
		if (!v) {
			/* other processes may sleep */
			if (__atomic_compare_exchange_n(word, &v, mine | WAITED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return;
			continue;
		}
		if (!(v & WAITED) &&
		    !__atomic_compare_exchange_n(word, &v, v | WAITED, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		v |= WAITED;
		if (raw4(SYS_futex, word, FUTEX_WAIT, v, limit) == -110 && process_is_dead(v & ~WAITED))
			__atomic_compare_exchange_n(word, &v, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void group_unlock(void)
{
	if (__atomic_exchange_n(&group.p->lock, 0, __ATOMIC_RELEASE) & WAITED)
		raw_futex_wake(&group.p->lock, 1);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	raw2(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void group_queue(struct slot *s)
{
	struct group_page *p = group.p;

	group_lock();
	s->go = 0;
	s->ticket = ++p->ticket;
	s->since_ms = now_ms();
	__atomic_add_fetch(&p->waiting, 1, __ATOMIC_SEQ_CST);
	group_unlock();
}

/* The caller holds the lock. */
static void drop_ticket(struct slot *s)
{
	if (!s->ticket)
		return;
	s->ticket = 0;
	__atomic_sub_fetch(&group.p->waiting, 1, __ATOMIC_SEQ_CST);
}

void group_forget(struct slot *s)
{
	drop_ticket(s);
	s->pid = 0;
}

void group_unqueue(struct slot *s)
{
	group_lock();
	drop_ticket(s);
	group_unlock();
}

/*
 * A process that was woken a while ago has not come: it waits for a processor, so the next one is woken, too; or it has
 * died. The caller holds the lock.
 */
static int is_late(struct slot *s, uint64_t now)
{
	if (!__atomic_load_n(&s->go, __ATOMIC_SEQ_CST) || s->woken_ms + LATE_MS >= now)
		return 0;
	if (s->looked_ms + LOOK_NS / 1000000 < now) {
		s->looked_ms = now;
		if (process_is_dead(s->pid))
			group_forget(s);
	}
	return 1;
}

static struct slot *longest_waiting(uint64_t now)
{
	struct slot *best = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *s = &group.p->slot[i];

		if (s->ticket && (!best || s->ticket < best->ticket) && !is_late(s, now))
			best = s;
	}
	return best;
}

/*
 * The turn is not handed to a process that sleeps: that may take long to come on a busy machine. Until then, one that
 * runs already may take the turn.
 */
void group_free_turn(void)
{
	struct group_page *p = group.p;
	struct slot *s;
	uint64_t now;
	int is_free = !__atomic_load_n(&p->waiting, __ATOMIC_SEQ_CST);

	if (is_free) {
		__atomic_store_n(&p->owner, 0, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&p->waiting, __ATOMIC_SEQ_CST))
			return;
	}
	now = now_ms();
	group_lock();
	s = longest_waiting(now);
	if (!is_free) {
		int starved = s && s->since_ms + STARVED_MS < now;

		__atomic_store_n(&p->owner, starved ? ((uint32_t)(s - p->slot) + 1) | GIVEN : 0, __ATOMIC_SEQ_CST);
	}
	if (s && __atomic_load_n(&s->go, __ATOMIC_SEQ_CST))
		s = 0; /* it was woken, and is coming */
	if (s) {
		s->woken_ms = now;
		__atomic_store_n(&s->go, 1, __ATOMIC_SEQ_CST);
	}
	group_unlock();
	if (s)
		raw_futex_wake(&s->go, 1);
}

int group_wanted(void)
{
	return group.held && __atomic_load_n(&group.p->waiting, __ATOMIC_RELAXED);
}

void group_fault(void)
{
	group.p->slot[group.me - 1].faults++;
}

/* Only the owner of the turn writes, or a process that holds the lock and finds the owner dead. */
static void write_journal(uint32_t slot, uint32_t region, uint32_t page, uint64_t base)
{
	struct group_page *p = group.p;
	uint64_t at = p->head;

	p->journal[at % JOURNAL] =
		(struct journal_entry){.what = (uint64_t)slot << 48 | (uint64_t)region << 32 | page, .base = base};
	__atomic_store_n(&p->head, at + 1, __ATOMIC_RELEASE);
}

void group_journal(uint32_t region, uint32_t page, int own)
{
	write_journal(own ? group.me : 0, region, page, 0);
}

static struct owned *own_entry(uint32_t region, uint32_t page)
{
	return &group.p->owned[(page + region * 40503u) % OWNED_PAGES];
}

void group_own(uint32_t region, uint32_t page)
{
	struct owned *o = own_entry(region, page);

	if (o->slot &&
	    /* the process that had the other page is told that it no longer has it OWNED */
	    (o->page != page || o->region != region))
		write_journal(group.me == o->slot ? 0 : group.me, LOOKED | o->region, o->page, 0);
	*o = (struct owned){
		.page = page, .region = (uint16_t)region, .slot = (uint16_t)group.me, .turn = group.p->turns};
}

void group_look(uint32_t region, uint32_t page, const void *now)
{
	struct group_page *p = group.p;
	struct owned *o = own_entry(region, page);
	uint64_t base = 0;

	if (!o->slot || o->page != page || o->region != region)
		return;
	if (p->slot[o->slot - 1].turn != o->turn && now) {
		base = ++p->bases;
		memcpy(p->base[base % BASES], now, sizeof(p->base[0]));
	}
	if (o->slot != group.me)
		write_journal(group.me, LOOKED | region, page, base);
	o->slot = 0;
}

const void *group_base(uint64_t base)
{
	struct group_page *p = group.p;

	return base && p->bases - base < BASES ? p->base[base % BASES] : 0;
}

uint32_t group_region(uint64_t dev, uint64_t ino)
{
	struct group_page *p = group.p;
	uint32_t i;

	group_lock();
	for (i = 0; (dev || ino) && i < p->regions && i < REGIONS; i++)
		if (p->region[i].dev == dev && p->region[i].ino == ino)
			break;
	if (!dev && !ino)
		i = p->regions;
	if (i == p->regions && i < REGIONS - 1) {
		p->region[i].dev = dev;
		p->region[i].ino = ino;
		p->regions++;
	}
	group_unlock();
	/* when there are too many objects, the last ones share a number, which costs needless wake-ups only */
	return i;
}

static uint32_t word_of(const void *obj)
{
	/* the page's offset alone: processes may have it at different addresses */
	return (uint32_t)((uintptr_t)obj & 4095) / 4 % WORDS;
}

uint32_t group_seen(const void *obj)
{
	return __atomic_load_n(&group.p->word[word_of(obj)].seq, __ATOMIC_ACQUIRE);
}

long group_wait(const void *obj, uint32_t seen)
{
	uint32_t w = word_of(obj);
	long limit[2] = {0, OBJECT_NS}, ret;

	__atomic_add_fetch(&group.p->word[w].waiters, 1, __ATOMIC_SEQ_CST);
	ret = raw4(SYS_futex, &group.p->word[w].seq, FUTEX_WAIT, seen, limit);
	__atomic_sub_fetch(&group.p->word[w].waiters, 1, __ATOMIC_SEQ_CST);
	return ret == -4 ? -4 : ret == -110 ? 1 : 0;
}

void group_wake(const void *obj)
{
	uint32_t w = word_of(obj);

	__atomic_add_fetch(&group.p->word[w].seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&group.p->word[w].waiters, __ATOMIC_SEQ_CST))
		raw_futex_wake(&group.p->word[w].seq, 0x7fffffff);
}
