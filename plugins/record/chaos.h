/* SPDX-License-Identifier: MIT */
/*
 * chaos.h: recording with --sched chaos: when the turn changes, and who gets it. Under the lock of gil.c, but where it
 * says otherwise.
 */
#ifndef FRED_RECORD_CHAOS_H
#define FRED_RECORD_CHAOS_H

#include "record/shim.h"

void chaos_init(uint64_t seed);
/* Behind an event of the owner, without the lock: is a decision due? */
int chaos_due(void);
/*
 * Without the lock, before a decision: waits until all threads but t either wait for the turn or sleep in the kernel, so
 * that who can be chosen does not depend on how long a wake-up takes.
 */
void chaos_settle(const struct thr *t);
void chaos_await(const struct thr *c); /* without the lock: until a new thread waits for the turn */
#define CHAOS_CHOICE 64 /* of so many at most */
/* The owner and n > 0 threads that wait, by ordinal. The index of the one to run; n: the owner goes on. */
uint32_t chaos_choose(uint32_t owner, const uint32_t *waiting, uint32_t n);
uint32_t chaos_yield(const uint32_t *waiting, uint32_t n); /* the same, where the owner lets others go first */
/* The owner waits for something else, or ends: as above, or n: nobody, for a while, so that the only one comes late. */
uint32_t chaos_next(const uint32_t *waiting, uint32_t n);
#define CHAOS_IDLE_NS 10000000l
void chaos_spun(uint32_t owner); /* it makes no events: perhaps it waits for another one */
void chaos_idled(void); /* nobody ran for so long */

#endif
