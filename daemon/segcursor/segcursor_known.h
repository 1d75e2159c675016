/* SPDX-License-Identifier: MIT */
/*
 * segcursor_known.h: for a report of new accesses (REPORT_NEW, rlog/report.h): decides which instructions' accesses may
 * be left out when they are known. What was found out is kept from one copy to the next.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_KNOWN_H
#define FRED_SEGCURSOR_SEGCURSOR_KNOWN_H

#include "trace/trace.h"

/* The consumer's decision about the accesses of an instruction. */
enum segcur_sort {
	/* not decided yet, or it orders threads: it is reported each time, and ends an epoch if it writes */
	SEGCUR_UNDECIDED = 0,
	SEGCUR_UNDECIDED_NEW, /* the same, but its writes to a stack have entries if the access is not known */
	SEGCUR_EACH, /* it is reported each time */
	SEGCUR_NEW, /* it has an entry if the access is not known */
};

struct segcur_known {
	/* by site, as in struct replay_known */
	uint64_t *head, *wants, *mask, *orders, *stacks;
	uint32_t *undecided; /* sites */
	size_t n, nundecided;
	uint64_t sorted; /* the caller's number of decisions when all of them were last asked for */
};

/* To be called for a copy, before it runs. 0: it has no memory for the tables. 1: done. -1: error. */
int segcur_known_map(struct segcur_known *k, struct trace *t, uint64_t gadget, struct err *e);
/* To be called while the copy is stopped. sorted: how many decisions there have been. 0 or -1. */
int segcur_known_sort(struct segcur_known *k, struct trace *t, uint64_t sorted,
		      enum segcur_sort (*sort)(void *ctx, uint64_t pc), void *ctx, struct err *e);
/* Forgets all sites, for the case that other code may be at their addresses. */
void segcur_known_forget(struct segcur_known *k);
void segcur_known_fini(struct segcur_known *k);

#endif
