/* SPDX-License-Identifier: MIT */
/* real.h: the real functions, which the wrappers call. */
#ifndef FRED_RECORD_REAL_H
#define FRED_RECORD_REAL_H

#include <stdint.h>

/* The real function that the wrapper of this name calls; resolved once, at the start. */
#define REAL(name) ((__typeof__(&name))real_table[REAL_##name])
enum real_id {
#define REALFN(name, version) REAL_##name,
#define REALOPT(name) REAL_##name,
#include "record/core/real.def"
#undef REALOPT
#undef REALFN
	REAL_COUNT
};
extern void *real_table[REAL_COUNT];
void *real_late(enum real_id id); /* a function of a library that the program may load later */
void *dl_find_real(const char *name); /* a function of the first library that is not the shim */
struct link_map;
void *dl_find_in(const struct link_map *m, const char *name); /* in one library; NULL: it has none of that name */
const struct link_map *dl_first_with(const char *name); /* the first one that defines it; NULL: none does */
const struct link_map *dl_object_of(const void *addr); /* the one that is mapped there, or below */
int real_has(const char *name); /* is it in the table? */
const char *real_find(void); /* fills the table. Returns the name of a missing function; NULL: all were found */

#endif
