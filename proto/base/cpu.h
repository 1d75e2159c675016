/* SPDX-License-Identifier: MIT */
/*
 * cpu.h: the features of this processor that a program can see and may choose its code by, as libc's memcpy does.
 * Names are those of /proc/cpuinfo. A replay needs the features that the recording had.
 */
#ifndef FRED_BASE_CPU_H
#define FRED_BASE_CPU_H

#include <stdint.h>

#include "base/str.h"

/* The names of this processor's features. */
void cpu_features(struct strv *out);
/* XCR0: which register sets the kernel has switched on (Intel SDM vol. 1, 13.3); 0: no XSAVE. */
uint64_t cpu_xcr0(void);
/* The names of the register sets in an XCR0, for messages. */
void cpu_xcr0_names(uint64_t xcr0, struct strv *out);

#endif
