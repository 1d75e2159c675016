/* SPDX-License-Identifier: MIT */
/*
 * auxv.h: what a launched program finds in its auxiliary vector, the same in recording and replay.
 * Freestanding: the shim includes it too.
 */
#ifndef FRED_LAUNCH_AUXV_H
#define FRED_LAUNCH_AUXV_H

/*
 * The 16 bytes that AT_RANDOM points to. libc makes its stack canary (first 8 bytes, the lowest
 * one zeroed) and its pointer guard (last 8 bytes) of them; mangled pointers show the latter in
 * the heap.
 */
#define LAUNCH_AT_RANDOM_LEN 16
#define LAUNCH_AT_RANDOM_BYTES                                                                                         \
	{                                                                                                              \
		0x5a, 0x9d, 0x31, 0xc7, 0x6e, 0x12, 0xf8, 0x43, 0xb4, 0x2b, 0xd6, 0x79, 0x0f, 0xe1, 0x8c, 0x55         \
	}

#endif
