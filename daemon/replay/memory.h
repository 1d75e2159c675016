/* SPDX-License-Identifier: MIT */
/*
 * memory.h: what a replay looks like at some positions: a hash of each page of writable memory, and the registers of
 * each thread. The first replay keeps them in the recording (REC/memory.NNNN), later ones compare.
 *
 * Left out is what is the recorder's own, since it tells how a replay was run and not what the program did: the control
 * page, its table of threads, its data, its signal stacks. Then the dynamic linker's .bss, where it keeps how many
 * cycles it took to relocate. And what no program may read: stacks below the stack pointer, and all of a thread's that
 * has ended. Of the general registers those that a function keeps for its caller are compared, where the threads begin
 * to wait: the others hold nothing of the program's there, and how they then wait differs each time. The vector
 * registers (vectors.h) are compared as they are: nothing changes them meanwhile.
 */
#ifndef FRED_REPLAY_MEMORY_H
#define FRED_REPLAY_MEMORY_H

#include <stdbool.h>

#include "base/buf.h"
#include "target/target.h"

#define MEMORY_POSITIONS 16

struct memory_check {
	char *path;
	struct buf now, before; /* the file's contents: to be written; as an earlier replay wrote them */
	size_t at; /* how far `before` has been compared */
	bool compares;
	unsigned positions;
};

/* The i-th position, from 1: at equal distances, the last one is the end. */
uint64_t memory_position(const struct target *t, unsigned i);

/* Begins with what the file has for this timeline; begins anew for another attempt. */
void memory_begin(struct memory_check *m, const struct target *t);
/* Compares, at a position. 1: *e says what differs from the earlier replay (ERR_NOT_FOUND). */
int memory_look(struct memory_check *m, struct target *t, struct err *e);
/* Writes what there was nothing to compare with, for later replays. */
int memory_end(struct memory_check *m, struct err *e);
void memory_fini(struct memory_check *m);

#endif
