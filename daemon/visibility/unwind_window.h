/* SPDX-License-Identifier: MIT */
/*
 * unwind_window.h: which of the program's frames is behind one of the recorder's. cli/gdb/frames.py asks that while GDB unwinds, when
 * GDB 13 can do nothing but read memory: of a packet sent then, it dies. So the question is made of reads, from addresses that no
 * processor has: one byte at 0xfdNN0000VVVVVVVV says that V is the N-th half of the frame's registers (rip, rsp, rbp, rbx,
 * r12 to r15; the low one first); the 64 bytes at 0xfdff000000000000 are those of the frame behind.
 */
#ifndef FRED_VISIBILITY_UNWIND_WINDOW_H
#define FRED_VISIBILITY_UNWIND_WINDOW_H

#include "visibility/shim_frames.h"

#define UNWIND_WINDOW_REGISTERS 8u

struct unwind_window {
	uint32_t half[2 * UNWIND_WINDOW_REGISTERS];
};

bool unwind_window_is_asked(uint64_t addr);
/* How many bytes can be read; 0: there is no such frame, or it is not known. */
size_t unwind_window_answer(struct unwind_window *b, struct shim_frames *o, const struct visibility *s, pid_t pid, uint64_t addr, void *buf, size_t len);

#endif
