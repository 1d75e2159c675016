/* SPDX-License-Identifier: MIT */
/* spin.h: loops that wait for what another thread writes, by looking at memory again and again. */
#ifndef FRED_RECORD_SPIN_H
#define FRED_RECORD_SPIN_H

#include "record/core/state.h"

#include <stdint.h>
#include <ucontext.h>

/*
 * Is this the code of such a loop, as a thread that was interrupted in it, and has made no event for a while, has it? A
 * guess: a thread that is wrongly taken for one only gives the turn up sooner, or lets the recorder go over to one
 * thread at a time.
 */
int spin_here(const ucontext_t *uc);
/*
 * Is there such a loop in this text? Only certain ones count: they look at memory at a fixed place, and write nothing,
 * or only try to take a lock there by an atomic instruction.
 */
int spin_in_text(const uint8_t *from, const uint8_t *end);

#endif
