/* SPDX-License-Identifier: MIT */
/*
 * locals.h: the frame to which variables of an expression belong. Their addresses mean something only as long
 * as that frame is on its thread's stack, and past the variables' declarations.
 */
#ifndef FRED_EXPR_LOCALS_H
#define FRED_EXPR_LOCALS_H

#include "gdb/gdb.h"

#define EXPR_UNSET_MAX 64

struct expr_range {
	uint64_t lo, hi; /* [lo, hi) */
};

struct expr_locals {
	bool any; /* a variable of a frame is used; else nothing below is set */
	pid_t tid; /* the frame's thread, in the process where it was found */
	uint32_t thread; /* its number on the timeline; 0: none. (In another process its TID may differ.) */
	uint64_t cfa; /* the stack pointer before the call of the function: it identifies the frame */
	uint64_t sp; /* the stack pointer inside of the function */
	uint64_t top; /* roughly where the thread's stack begins; 0: unknown */
	uint64_t ret; /* the return address, which lies below cfa */
	struct expr_range code; /* of the function */
	char func[128]; /* the function's name, perhaps cut off */
	/* Ranges of the function in which a variable is not declared yet. */
	struct expr_range unset[EXPR_UNSET_MAX];
	unsigned unset_n;
};

/*
 * If the name is a variable of this frame (in memory, in a register or optimized out), adds its description. 1: it is
 * not. 0: done. -1: GDB failed.
 */
int expr_locals_add(struct gdb *g, pid_t tid, int frame, const char *name, struct expr_locals *l, struct err *e);

/* Describes the frame itself. 0, or -1: GDB cannot tell. */
int expr_locals_frame_at(struct gdb *g, pid_t tid, int frame, struct expr_locals *l);
/* If addr lies in this frame or a caller's, as an object does whose method runs: adds that frame. 1: it does not. */
int expr_locals_owner(struct gdb *g, pid_t tid, int frame, uint64_t addr, struct expr_locals *l);
/*
 * In process pid, which does not run, or a copy of it that has the thread in question alone: is the frame on its
 * thread's stack, and past the declaration of the variables? True when no frame is used. Without GDB.
 */
bool expr_locals_alive(const struct expr_locals *l, pid_t pid);
/* The TID of that thread in this process. */
pid_t expr_locals_tid(const struct expr_locals *l, pid_t pid);
/* The level of that frame in a thread's stack; -1: it is not there. */
int expr_locals_frame(struct gdb *g, pid_t tid, const struct expr_locals *l);

#endif
