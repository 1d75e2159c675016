/* SPDX-License-Identifier: MIT */
/* sync_group.h: locks and semaphores in memory that processes share, recorded. See sync_group.c. */
#ifndef FRED_RECORD_SYNC_GROUP_H
#define FRED_RECORD_SYNC_GROUP_H

#include "record/core/state.h"
#include "record/shm/group.h"

enum shared_kind { SHARED_SEM, SHARED_MUTEX, SHARED_RDLOCK, SHARED_WRLOCK };

/* Is obj in memory that the group shares, and this process recorded? */
static inline int is_shared(const void *obj)
{
	return unlikely(G.group) && G.mode == SHIM_RECORD && pages_at(obj);
}

/* Acquires the lock: 0 or an error number. once: does not wait (EBUSY); ts: the time limit, or NULL. */
int shared_lock(struct thr *t, enum shared_kind kind, void *obj, int once, clockid_t clock, const struct timespec *ts);
/* A condition's wait, after its event. seen: group_seen(c) before that. */
void shared_cond_wait(struct thr *t, pthread_cond_t *c, pthread_mutex_t *m, uint32_t seen, clockid_t clock,
		      const struct timespec *ts, int64_t *ret);

/* shared_before: before a release: makes the object accessible. shared_after: lets waiting threads try again. */
static inline void shared_before(const void *obj, uint64_t size)
{
	if (is_shared(obj))
		pages_touch(obj, size, 1);
}

static inline void shared_released(const void *obj)
{
	if (is_shared(obj))
		group_wake(obj);
}

#endif
