/* SPDX-License-Identifier: MIT */
/*
 * unwind_window.h: tells GDB's unwinder which frame of the program has called a frame of the recorder.
 * cli/gdb/frames.py asks this while GDB unwinds. GDB 13 crashes if a packet is sent then, but it can read memory; so
 * question and answer are reads at addresses that no processor has. A read of one byte at 0xfdNN0000VVVVVVVV says: V is
 * the N-th half of the recorder frame's registers (rip, rsp, rbp, rbx, r12 to r15; the low half first). Then the 64
 * bytes at 0xfdff000000000000 are the same registers of the calling frame.
 */
#ifndef FRED_VISIBILITY_UNWIND_WINDOW_H
#define FRED_VISIBILITY_UNWIND_WINDOW_H

#include "visibility/shim_frames.h"

#define UNWIND_WINDOW_REGISTERS 8u

struct unwind_window {
	uint32_t half[2 * UNWIND_WINDOW_REGISTERS];
};

bool unwind_window_is_asked(uint64_t addr);
/* Answers a read: returns how many bytes; 0: there is no such frame, or it is not known. */
size_t unwind_window_answer(struct unwind_window *b, struct shim_frames *o, const struct visibility *s, pid_t pid,
			    uint64_t addr, void *buf, size_t len);

#endif
