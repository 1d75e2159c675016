/* SPDX-License-Identifier: MIT */
/* names.h: what the debug information calls a piece of memory: a variable, and the field or element in it. */
#ifndef FRED_RACECHECK_NAMES_H
#define FRED_RACECHECK_NAMES_H

#include "instrument/modules.h"

struct name {
	char *text; /* "ledger.balance", "here[2]"; malloc'd; NULL: it has none */
	/* the last name in it, which a line of source that means it contains; malloc'd; NULL: not known */
	char *variable;
	char *type; /* NULL: without a name; malloc'd */
	bool atomic; /* declared _Atomic, or std::atomic */
};

void name_fini(struct name *n);
/* Of a static or global variable: false: none is known at addr. */
bool name_of_static(struct code_file *m, uint64_t addr, struct name *out);
/*
 * Of a local variable: of the function that pc is in, whose frame ends (the address after its return address) at cfa.
 * false: none is known, or it is not in memory.
 */
bool name_of_local(struct code_file *m, uint64_t pc, uint64_t cfa, uint64_t addr, struct name *out);

/*
 * Do these names, of a variable and of members in each other ("queue", "head", "n" for queue.head->n), mean something
 * that is not declared atomic, in the code at pc? false also if that is not known.
 */
bool name_is_plain(struct code_file *m, uint64_t pc, const char *const *names, size_t n);

#endif
