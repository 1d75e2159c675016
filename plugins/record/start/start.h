/* SPDX-License-Identifier: MIT */
/* start.h: the ways into the recorder: its start, and the trap of a system call. */
#ifndef FRED_RECORD_START_H
#define FRED_RECORD_START_H

#include "record/core/state.h"

void connect_folders(void); /* fills the tables of functions by which lower folders call upper ones */

/* --- trap.c --- */
void trap_handler(int sig, siginfo_t *si, void *uc);
#endif
