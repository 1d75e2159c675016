/* SPDX-License-Identifier: MIT */
/* scrub.h: wipes what the recorder has left below the program's stack pointer. */
#ifndef FRED_RECORD_SCRUB_H
#define FRED_RECORD_SCRUB_H

#include "record/core/state.h"

#include <stdint.h>

/*
 * What the recorder leaves below the program's stack differs between the modes, and programs write bytes that they
 * never set (padding, the rest of a buffer). So it is cleared after a system call.
 */
void scrub_stack(void);
void scrub_stack_bytes(uint64_t n); /* a multiple of 8 */

void trap_find_vectors(void); /* once, before the others: which vector registers there are */
/*
 * Serial: makes the memory below the caller's frames the same in a replay, at the beginning of a call and at its end.
 */
void shim_scrub(void);

#endif
