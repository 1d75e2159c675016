/* SPDX-License-Identifier: MIT */
/*
 * footprint.h: which bytes of memory a window touches, and which of them it loads before it has stored there: its first
 * loads, which a replay of the window alone has to be given (BugNet 4.1). Pure.
 */
#ifndef FRED_EXECUTED_FOOTPRINT_H
#define FRED_EXECUTED_FOOTPRINT_H

#include <stdint.h>

#include "base/table.h"

struct footprint_page;

struct footprint {
	struct table pages;
	struct footprint_page *last; /* the page of the access before; NULL: there was none */
	uint64_t last_number;
	/* results, in bytes */
	uint64_t touched, loaded;
};

enum footprint_access { FOOTPRINT_LOAD, FOOTPRINT_STORE };

/* f: zeroed at first. In the order of execution; an access that does both is a load, then a store. */
void footprint_add(struct footprint *f, uint64_t addr, uint64_t len, enum footprint_access how);
void footprint_fini(struct footprint *f);

#endif
