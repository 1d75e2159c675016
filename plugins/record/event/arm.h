/* SPDX-License-Identifier: MIT */
/* arm.h: catches the system calls of the calling thread. */
#ifndef FRED_RECORD_ARM_H
#define FRED_RECORD_ARM_H

#include "record/core/state.h"

void arm_thread(struct thr *t); /* recording */
void arm_release(void); /* the calling thread is no longer recorded */
void trap_start_replay(void); /* catches the system calls of a replay; new threads and fork children: */
void arm_replay_thread(void);

#endif
