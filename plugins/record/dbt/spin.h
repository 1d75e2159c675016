/* SPDX-License-Identifier: MIT */
/* spin.h: loops that wait for what another thread writes, by looking at memory again and again. */
#ifndef FRED_RECORD_SPIN_H
#define FRED_RECORD_SPIN_H

#include <stdint.h>
#include <ucontext.h>

/*
 * Is this the code of such a loop, as a thread that was interrupted in it, and has made no event for a while, has it? A guess: who
 * is taken for one only gives the turn up sooner, or lets the recorder go over to one thread at a time.
 */
int spin_here(const ucontext_t *uc);
/*
 * Is there one in this text? Only what certainly is: it looks at memory that stays where it is, and writes nothing, or but
 * tries to take a lock there by an atomic instruction.
 */
int spin_in_text(const uint8_t *from, const uint8_t *end);

/*
 * Behind the system call nr of t, whose record began at `from`, while threads run side by side: goes over to one at a time when a
 * thread waits by looking at memory; on replay, when the recorder did.
 */
struct thr;
void spin_behind_call(struct thr *t, long nr, const long *a, const uint8_t *from);

/* In a fork's child: the other threads are its parent's, and nobody here may signal them, or wait for them. */
void spin_fork_child(struct thr *now);

#endif
