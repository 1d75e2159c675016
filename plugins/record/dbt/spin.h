/* SPDX-License-Identifier: MIT */
/* spin.h: loops that wait for what another thread writes, by looking at memory again and again. */
#ifndef FRED_RECORD_SPIN_H
#define FRED_RECORD_SPIN_H

#include "record/core/state.h"

#include <stdint.h>
#include <ucontext.h>

/*
 * Does the interrupted thread, which has made no event for a while, execute such a loop? This is a guess: if it is
 * wrong, the thread only gives up the turn sooner, or the recorder goes over to one thread at a time.
 */
int spin_here(const ucontext_t *uc);
/*
 * Is there such a loop in this text? Only certain ones count: they look at memory at a fixed place, and write nothing,
 * or only try to take a lock there by an atomic instruction.
 */
int spin_in_text(const uint8_t *from, const uint8_t *end);

#endif
