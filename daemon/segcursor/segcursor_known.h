/* SPDX-License-Identifier: MIT */
/*
 * segcursor_known.h: of a report of new accesses (REPORT_NEW, rlog/report.h): which instructions' accesses may be left
 * out when they are known. What was found out is kept from one copy to the next.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_KNOWN_H
#define FRED_SEGCURSOR_SEGCURSOR_KNOWN_H

#include "trace/trace.h"

/* What the consumer says of the accesses of an instruction. */
enum segcur_sort {
	SEGCUR_UNDECIDED = 0, /* not known yet, or it orders threads: it is told each time, and ends an epoch if it
				 writes */
	SEGCUR_UNDECIDED_NEW, /* the same, but its writes to a stack have entries if the access is not known */
	SEGCUR_EACH, /* it is told each time */
	SEGCUR_NEW, /* it has an entry if the access is not known */
};

struct segcur_known {
	/* by site, as in struct replay_known */
	uint64_t *head, *wants, *mask, *orders, *stacks;
	uint32_t *undecided; /* sites */
	size_t n, nundecided;
	uint64_t sorted; /* the caller's count of decisions, when all of them were asked about last */
};

/* To be called for a copy, before it runs. 0: it has no memory for the tables. 1: done. -1: error. */
int segcur_known_map(struct segcur_known *k, struct trace *t, uint64_t gadget, struct err *e);
/* To be called while the copy is stopped. sorted: how many decisions there have been. 0 or -1. */
int segcur_known_sort(struct segcur_known *k, struct trace *t, uint64_t sorted,
		      enum segcur_sort (*sort)(void *ctx, uint64_t pc), void *ctx, struct err *e);
/* All sites, when other code may be where they are. */
void segcur_known_forget(struct segcur_known *k);
void segcur_known_fini(struct segcur_known *k);

#endif
