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
			/* others may sleep */
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

/* To the one that waits longest. With the lock held. */
void group_grant_next(void)
{
	struct group_page *p = group.p;
	struct slot *best = 0;

	p->owner = 0;
	for (uint32_t i = 0; p->waiting && i < SLOTS; i++)
		if (p->slot[i].ticket && (!best || p->slot[i].ticket < best->ticket))
			best = &p->slot[i];
	if (!best)
		return;
	best->ticket = 0;
	p->waiting--;
	p->turns++;
	p->owner = (uint32_t)(best - p->slot) + 1;
	__atomic_store_n(&best->go, 1, __ATOMIC_RELEASE);
	raw_futex_wake(&best->go, 1);
}

int group_wanted(void)
{
	return group.held && __atomic_load_n(&group.p->waiting, __ATOMIC_RELAXED);
}

void group_fault(void)
{
	group.p->slot[group.me - 1].faults++;
}

/* Only the owner of the turn writes, or who holds the lock and finds the owner dead. */
void group_journal(uint32_t region, uint32_t page, int own)
{
	struct group_page *p = group.p;
	uint64_t at = p->head;

	p->journal[at % JOURNAL] = (uint64_t)(own ? group.me : 0) << 48 | (uint64_t)region << 32 | page;
	__atomic_store_n(&p->head, at + 1, __ATOMIC_RELEASE);
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
	return i; /* when there are too many, the last ones share a number: more looks, nothing worse */
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
