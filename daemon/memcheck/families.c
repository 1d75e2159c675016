/* SPDX-License-Identifier: MIT */
/* families.c: see families.h. */
#include "memcheck/families.h"

#include <string.h>

#include "base/maps.h"
#include "base/str.h"
#include "trace/trace.h"

#define SLOT_BYTES 8

/* X(symbol, family) */
#define FUNCTIONS(X)                                                                                                   \
	X("malloc", MALLOC)                                                                                            \
	X("calloc", MALLOC)                                                                                            \
	X("realloc", MALLOC)                                                                                           \
	X("reallocarray", MALLOC)                                                                                      \
	X("memalign", MALLOC)                                                                                          \
	X("posix_memalign", MALLOC)                                                                                    \
	X("aligned_alloc", MALLOC)                                                                                     \
	X("valloc", MALLOC)                                                                                            \
	X("free", MALLOC)                                                                                              \
	X("_Znwm", NEW)                                                                                                \
	X("_ZnwmRKSt9nothrow_t", NEW)                                                                                  \
	X("_ZnwmSt11align_val_t", NEW)                                                                                 \
	X("_ZnwmSt11align_val_tRKSt9nothrow_t", NEW)                                                                   \
	X("_ZdlPv", NEW)                                                                                               \
	X("_ZdlPvm", NEW)                                                                                              \
	X("_ZdlPvRKSt9nothrow_t", NEW)                                                                                 \
	X("_ZdlPvSt11align_val_t", NEW)                                                                                \
	X("_ZdlPvmSt11align_val_t", NEW)                                                                               \
	X("_ZdlPvSt11align_val_tRKSt9nothrow_t", NEW)                                                                  \
	X("_Znam", ARRAY)                                                                                              \
	X("_ZnamRKSt9nothrow_t", ARRAY)                                                                                \
	X("_ZnamSt11align_val_t", ARRAY)                                                                               \
	X("_ZnamSt11align_val_tRKSt9nothrow_t", ARRAY)                                                                 \
	X("_ZdaPv", ARRAY)                                                                                             \
	X("_ZdaPvm", ARRAY)                                                                                            \
	X("_ZdaPvRKSt9nothrow_t", ARRAY)                                                                               \
	X("_ZdaPvSt11align_val_t", ARRAY)                                                                              \
	X("_ZdaPvmSt11align_val_t", ARRAY)                                                                             \
	X("_ZdaPvSt11align_val_tRKSt9nothrow_t", ARRAY)

static const char *const names[] = {
#define X(name, family) name,
	FUNCTIONS(X)
#undef X
};

static const uint8_t families[] = {
#define X(name, family) FAMILY_##family,
	FUNCTIONS(X)
#undef X
};

struct family_call {
	uint64_t pc;
	enum family family; /* of the function that it calls */
	bool in_library; /* of C++ */
};

void families_init(struct families *f)
{
	imports_init(&f->imports, names, sizeof(names) / sizeof(names[0]));
	table_init(&f->calls, sizeof(struct family_call));
}

void families_fini(struct families *f)
{
	imports_fini(&f->imports);
	table_fini(&f->calls);
}

/* ---- calls ---- */

static bool is_cxx_library(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return str_starts(name, "libstdc++.") || str_starts(name, "libc++.") || str_starts(name, "libc++abi.");
}

static const struct family_call *call_at(struct families *f, pid_t pid, uint64_t pc)
{
	struct family_call *c = table_find(&f->calls, pc);
	struct mapping v;
	uint64_t slot;
	int name;

	if (c)
		return c;
	slot = imports_slot_called(pid, pc);
	name = slot ? imports_find(&f->imports, pid, slot) : -1;
	c = table_add(&f->calls, pc);
	c->family = name < 0 ? FAMILY_UNKNOWN : (enum family)families[name];
	c->in_library = name >= 0 && maps_find(pid, pc, &v) && is_cxx_library(v.path);
	return c;
}

/*
 * A call of malloc or free is that of an operator if one has led there directly: new[] calls new, and delete jumps. The
 * C++ library's own calls are those of its operators, whose callers may have been left by a jump.
 */
enum family families_of(struct families *f, pid_t pid, const struct instrument_stack *s)
{
	enum family is = FAMILY_UNKNOWN;

	for (size_t k = s->n; k; k--) {
		const struct family_call *c = call_at(f, pid, s->v[k - 1].pc);

		if (c->family == FAMILY_UNKNOWN || (c->family == FAMILY_MALLOC && k < s->n))
			break;
		is = c->family == FAMILY_MALLOC && c->in_library ? FAMILY_UNKNOWN : c->family;
	}
	return is;
}

/* ---- both ---- */

/* Does this word lead from its file to another one that is not the C++ library? */
static bool leads_elsewhere(pid_t pid, uint64_t slot)
{
	struct mapping from, to;
	uint64_t at;
	struct err ignored;

	if (trace_read(pid, slot, &at, SLOT_BYTES, &ignored) || !maps_find(pid, at, &to) || is_cxx_library(to.path))
		return false;
	return !maps_find(pid, slot, &from) || strcmp(from.path, to.path) != 0;
}

/* Has the program operators of its own? They are called where the C++ library's delegate to each other, too. */
static bool are_replaced(struct families *f, pid_t pid)
{
	struct err ignored;

	if (imports_read(&f->imports, pid, &ignored))
		return true;
	for (const struct import *i = NULL; (i = table_next(&f->imports.slots, i));)
		if (i->name && families[i->name - 1] != FAMILY_MALLOC && leads_elsewhere(pid, i->slot))
			return true;
	return false;
}

bool families_match(struct families *f, pid_t pid, enum family made, enum family freed)
{
	return made == freed || made == FAMILY_UNKNOWN || freed == FAMILY_UNKNOWN || are_replaced(f, pid);
}

static const char *const makers[] = {[FAMILY_MALLOC] = "malloc", [FAMILY_NEW] = "new", [FAMILY_ARRAY] = "new[]"},
			 *const freers[] = {
				 [FAMILY_MALLOC] = "free", [FAMILY_NEW] = "delete", [FAMILY_ARRAY] = "delete[]"};

const char *families_maker(enum family f)
{
	return makers[f];
}

const char *families_freer(enum family f)
{
	return freers[f];
}
