/* SPDX-License-Identifier: MIT */
/* sanitizer.h: the program was ended by the runtime of a sanitizer, which had found an error of the program's. */
#ifndef FRED_SANITIZER_SANITIZER_H
#define FRED_SANITIZER_SANITIZER_H

#include "chain/explain.h"

/* A signal of an instruction. */
struct sanitizer_signal {
	int sig;
	uint64_t addr, pc;
};

#define SANITIZER_SIGNAL 2
/*
 * The program stands at its failure. Was it ended within a function of a sanitizer's runtime? Then the failure becomes
 * the call of the runtime, or of the function of libc that the runtime intercepts, and the chain follows what was
 * wrong there. 0; SANITIZER_SIGNAL: the runtime handled the signal *s, and the failure becomes the instruction that
 * it interrupted, at which the program stands; 1: neither, and the program stands at its failure still; -1.
 */
int sanitizer_explain(struct explain *x, struct sanitizer_signal *s, struct err *e);

#endif
