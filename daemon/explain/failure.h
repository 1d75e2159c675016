/* SPDX-License-Identifier: MIT */
/* failure.h: what kind of failure it was, and what is to be searched for. */
#ifndef FRED_EXPLAIN_FAILURE_H
#define FRED_EXPLAIN_FAILURE_H

#include "explain/explain.h"

/* The program stands at its end. Fills failure, chain, threads and why the chain ends. */
int failure_explain(struct explain *x, struct err *e);

#endif
