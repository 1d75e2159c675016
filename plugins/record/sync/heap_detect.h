/* SPDX-License-Identifier: MIT */
/*
 * heap_detect.h: the heap with --detect, as in iReplayer (section 4): canaries after each block, a check of its
 * header, and a quarantine of freed blocks, which are filled with canaries. Blocks are looked at when they are freed or
 * resized, when they leave the quarantine (large ones, which are in none: when they are allocated again), and at the
 * end of the process.
 *
 * What is found is a note of the recording (RLOG_NOTE_DAMAGE), once for each block. A damaged block is never given out
 * again, so that the damage is there until the end of the process, and a replay can be searched for the write. A replay
 * does the same, since its memory is the same; it makes no notes.
 */
#ifndef FRED_RECORD_HEAP_DETECT_H
#define FRED_RECORD_HEAP_DETECT_H

#include "record/sync/heap.h"

void detect_begin(int recording); /* blocks from here on have canaries */

/* As malloc; site: after the call, in the program (while recording). *zero as for heap_take. */
void *detect_take(size_t n, int *zero, const void *site);
/*
 * The block of p, which is in use, has n bytes from p on from now on. align: p is a multiple of it; 0: of nothing in
 * particular. The call site stays the same.
 */
void detect_set(struct block *b, void *p, size_t n, size_t align);
/* Makes a header in front of p, which is inside the block b. */
void detect_set_aligned(struct block *b, void *p);
/* Can p, in an intact block, have n bytes? */
int detect_fits(void *p, size_t n);

enum detect_state { DETECT_INTACT, DETECT_DAMAGED, DETECT_PLAIN };
/*
 * Looks at p, which the program frees or resizes. DETECT_DAMAGED: a note was made. DETECT_PLAIN: it is no used block,
 * or one without canaries.
 */
enum detect_state detect_look(void *p);
/* Frees p, which is DETECT_INTACT. */
void detect_free(void *p);
/* Frees a damaged block, which is never allocated again. */
void detect_keep(struct block *b);

/* heap_look.c: all blocks of the process, while recording: it ends, execs or forks. */
void detect_look_at_all(void);

#endif
