/* SPDX-License-Identifier: MIT */
/*
 * atomics.h: which lines of C and C++ source have atomic operations. On x86-64 an atomic load or store is, but for a
 * sequentially consistent store, the same instruction as a plain one, so that the source alone tells them apart. A line
 * has one if it calls what C11 (7.17), GCC (__atomic_*, __sync_*) or a library name as such, uses a macro whose
 * text does, or names something that was declared _Atomic, atomic_int and so on, or std::atomic. Pure.
 */
#ifndef FRED_RACECHECK_ATOMICS_H
#define FRED_RACECHECK_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Names that mean atomic operations or objects. Zero-initialised: none. */
struct atomics {
	struct strv names;
};

void atomics_fini(struct atomics *a);
/* Adds the macros and objects that this text defines. */
void atomics_scan(struct atomics *a, const char *text, size_t len);
/* Does a variable, or a member of members of it, have a type that is known and not atomic? */
struct atomics_types {
	bool (*plain)(void *ctx, const char *const *names, size_t n);
	void *ctx;
};
/*
 * Has this line an atomic operation? The names of a and, unless it is NULL, of b count, but for what `types` (NULL:
 * none are known) says is plain: another object has the same name. variable: only one on a variable of this name, which
 * the line names itself or passes to what is atomic; NULL: on any.
 */
bool atomics_line(const struct atomics *a, const struct atomics *b, const char *line, size_t len, const char *variable,
		  const struct atomics_types *types);

/*
 * Does this line load, store or change one atomic object, with relaxed order, and nothing else that is atomic? Such an
 * operation orders nothing by itself, unless there are fences.
 */
bool atomics_relaxed(const struct atomics *a, const struct atomics *b, const char *line, size_t len);
/* Does this text have fences, or anything that may be one? */
bool atomics_fences(const char *text, size_t len);

/*
 * OpenMP's: `atomic` makes the statement of the next line one; for `reduction`, the compiler puts what threads have
 * computed together by atomic operations that belong to this line. A load that begins a loop of compare-and-exchange
 * has no lock prefix.
 */
enum atomics_pragma { ATOMICS_NO_PRAGMA = 0, ATOMICS_HERE, ATOMICS_NEXT };
enum atomics_pragma atomics_pragma(const char *line, size_t len);

#endif
