/* SPDX-License-Identifier: MIT */
/*
 * rules.h: which instructions are atomic operations (docs/architecture.md, "Races"). A lock prefix and xchg can be seen
 * in the instruction. A plain load or store may be one, too: the source line says so (atomics.h), or the type of the
 * variable. What neither has a lock prefix nor is a plain load or store is none.
 */
#ifndef FRED_RACECHECK_RULES_H
#define FRED_RACECHECK_RULES_H

#include "instrument/modules.h"
#include "racecheck/atomics.h"
#include "reclog/sources.h"

enum rules_atomic {
	RULES_PLAIN, /* it is not atomic */
	RULES_ATOMIC,
	RULES_UNKNOWN, /* a plain load or store without known source */
	RULES_TRUSTED, /* the same, in a library of the distribution: it counts as atomic */
};

struct rules_file {
	char *path;
	struct buf text; /* empty: it cannot be read */
	struct atomics names;
};

struct rules {
	struct code_files modules;
	struct sources sources;
	struct rules_file *files;
	size_t nfiles, cap;
	struct atomics common; /* of headers */
	bool have_common;
	bool fences, fences_known; /* some source of the program's has fences, or none of its sources is known */
};

void rules_init(struct rules *r, const struct rec *rec);
void rules_fini(struct rules *r);
/* Is a plain load or store at pc, to addr, an atomic operation? */
enum rules_atomic rules_atomic(struct rules *r, pid_t pid, uint64_t pc, uint64_t addr);
/* Is an atomic operation a relaxed one, in a program without fences? calls: the n innermost ones around it. */
bool rules_is_relaxed(struct rules *r, pid_t pid, uint64_t pc, const uint64_t *calls, uint32_t n);
/* false: rules_is_relaxed is false for all instructions. */
bool rules_has_relaxed(struct rules *r);

#endif
