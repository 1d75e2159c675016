/* SPDX-License-Identifier: MIT */
/* sanitizer.h: the program was ended by the runtime of a sanitizer, which had found an error of the program's. */
#ifndef FRED_SANITIZER_SANITIZER_H
#define FRED_SANITIZER_SANITIZER_H

#include "chain/explain.h"

/*
 * The program stands at its failure. Was it ended within a function of a sanitizer's runtime? Then the failure becomes
 * the call of the runtime, or of the function in whose place the runtime has put its own, and the chain follows what
 * was wrong there. 0; 1: it was not, and the program stands there still; -1.
 */
int sanitizer_explain(struct explain *x, struct err *e);

#endif
