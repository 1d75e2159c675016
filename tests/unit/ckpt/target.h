/* SPDX-License-Identifier: MIT */
/* target.h: the page that the test target shares with its test, /run/fred/ctl.0001. */
#ifndef FRED_TEST_CKPT_TARGET_H
#define FRED_TEST_CKPT_TARGET_H

#include <stdint.h>

#define TARGET_CTL "/run/fred/ctl.0001"
#define TARGET_ADDR 0x100000000000ull
#define TARGET_REC "/run/fred/rec/log"
#define TARGET_THREADS 4 /* with the main thread */
#define TARGET_PID 4321

struct target_ctl {
	uint32_t notify; /* futex: +1 when all threads exist, and have done a step */
	uint32_t go; /* futex: +1 lets all threads do one step */
	uint32_t done; /* threads that have done the current step */
	uint32_t pad;
	struct {
		uint64_t stack, tls, heap; /* three counters, of which each lives elsewhere */
		uint64_t trapped; /* answer of the trapped system call */
		uint64_t rec; /* a byte of the recording's file */
		int32_t tid, pad;
	} thread[TARGET_THREADS];
	uint64_t big; /* hash of the big block */
};

#endif
