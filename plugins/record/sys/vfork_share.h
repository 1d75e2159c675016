/* SPDX-License-Identifier: MIT */
/* vfork_share.h: what a vfork child shows its parent, which waits: proc/vfork.c. */
#ifndef FRED_RECORD_VFORK_SHARE_H
#define FRED_RECORD_VFORK_SHARE_H

#include "record/core/state.h"

#include <stdint.h>

#define VFORK_PAGE 4096ul
#define STRETCH VFORK_PAGE
#define PIECES_MAX 1024u
#define CALLS_MAX 256u
#define RANGE_MAX (16ul << 30) /* more is address space, not memory */

struct share {
	uint64_t sp; /* start of the part of the stack that is always copied */
	uint32_t len;
	uint32_t done; /* the child has filled in the pieces */
	uint32_t all, heap; /* all: more than that part; heap: the heap's state before */
	uint32_t calls; /* calls by the child that changed its address space */
	struct {
		long nr, a[6];
	} call[CALLS_MAX];
	uint32_t n;
	struct {
		uint64_t at;
		uint32_t len;
	} piece[PIECES_MAX];
	uint8_t bytes[PIECES_MAX][VFORK_PAGE];
};

extern struct share *vfork_share; /* in a vfork child; else NULL */
void vfork_child(struct share *s); /* this process is one */
void vfork_add_piece(struct share *s, uint64_t at, uint32_t len); /* the child has written there */
void vfork_child_maps(long nr, const long *a, long ret); /* after a call that changes the address space; recording */

#endif
