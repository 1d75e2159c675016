/* SPDX-License-Identifier: MIT */
/*
 * families.h: whether a block is freed by what belongs to the function that has allocated it: free to malloc, delete to
 * new, delete[] to new[]. Told by the calls that lead to malloc and free: those of operators in the C++ library have
 * names in the calling files' relocations (instrument/imports.h). An operator that is linked statically or that the
 * program has defined is not known: then malloc and free count, which such operators call.
 */
#ifndef FRED_MEMCHECK_FAMILIES_H
#define FRED_MEMCHECK_FAMILIES_H

#include "instrument/imports.h"
#include "instrument/instrument.h"

enum family { FAMILY_UNKNOWN, FAMILY_MALLOC, FAMILY_NEW, FAMILY_ARRAY };

struct families {
	struct imports imports;
	struct table calls; /* of struct family_call, by its address */
};

void families_init(struct families *f);
void families_fini(struct families *f);
/* The family of the function that now allocates or frees, and was called by the last call of this stack. */
enum family families_of(struct families *f, pid_t pid, const struct instrument_stack *s);
/* May a block that `a` has allocated be freed by `b`, as far as that is known? */
bool families_match(struct families *f, pid_t pid, enum family made, enum family freed);
const char *families_maker(enum family f);
const char *families_freer(enum family f);

#endif
