/* SPDX-License-Identifier: MIT */
/*
 * malloc_chaos.c: malloc_turns.c with threads that are interrupted while they hold the allocator's lock, and others
 * that make a thread then.
 *
 * RECORD: --sched chaos:3
 * CFLAGS: -rdynamic
 * NONDET-OUTPUT
 */
#include "malloc_turns.c"
