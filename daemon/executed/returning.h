/* SPDX-License-Identifier: MIT */
/*
 * returning.h: which functions never return, as far as the bytes of the code tell: those in which no path leads to a
 * return. A path ends at a call of such a function, and at a call of one that is known by name (exit, abort and the
 * like), through the word that a file has for it. If it is not known where a path leads, the function counts as
 * returning. Pure.
 */
#ifndef FRED_EXECUTED_RETURNING_H
#define FRED_EXECUTED_RETURNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "insn/next.h"

struct returning_ops {
	/* Up to n bytes of code at pc; how many. */
	size_t (*read)(void *ctx, uint64_t pc, uint8_t *code, size_t n);
	/* Does the word at `slot` have the address of a function that never returns? */
	bool (*never)(void *ctx, uint64_t slot);
};

struct returning {
	const struct returning_ops *ops;
	void *ctx;
	struct table functions; /* those that have been looked at, by address */
	struct table insns; /* visited: the function, by its number, from which it was visited last */
	uint32_t number;
	size_t left; /* instructions that are looked at, at most */
};

void returning_init(struct returning *r, const struct returning_ops *ops, void *ctx);
void returning_fini(struct returning *r);
/* Does execution go on after this call? */
bool returning_after(struct returning *r, const struct insn_next *call);

/* Functions of libc and of the C++ library that never return, for imports.h. */
extern const char *const returning_never[];
extern const size_t returning_nnever;

#endif
