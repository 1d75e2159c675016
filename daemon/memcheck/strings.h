/* SPDX-License-Identifier: MIT */
/*
 * strings.h: calls of libc's functions for memory and strings: what they read, by their arguments and results. By their
 * accesses this cannot be told: they read whole vectors, also beyond what they use.
 */
#ifndef FRED_MEMCHECK_STRINGS_H
#define FRED_MEMCHECK_STRINGS_H

#include <stdbool.h>

#include "instrument/imports.h"

/* A call that has not returned. */
struct string_call {
	uint64_t sp; /* where its return address stands; 0: none */
	unsigned function;
	uint64_t arg[3];
	uint64_t lo, hi; /* what it has written from arg[0] on */
};

struct string_ops {
	/* It reads these bytes; decides: what it does depends on them, it does not only copy them. */
	void (*reads)(void *ctx, const char *function, uint64_t addr, uint64_t len, bool decides);
	/* It copies between areas that overlap, which it may not. */
	void (*overlaps)(void *ctx, const char *function, uint64_t to, uint64_t from, uint64_t len);
};

struct strings {
	const struct string_ops *ops;
	void *ctx;
	struct imports imports;
	struct string_call *open; /* by thread */
};

void strings_init(struct strings *s, const struct string_ops *ops, void *ctx);
void strings_fini(struct strings *s);
/* A call by the word at `slot`; sp: where its return address will stand. */
void strings_call(struct strings *s, pid_t pid, uint32_t thread, uint64_t slot, const uint64_t *arg, uint64_t sp);
/* libc writes. */
void strings_write(struct strings *s, uint32_t thread, uint64_t addr, uint64_t len);
/* The return to the address at sp. */
void strings_return(struct strings *s, uint32_t thread, uint64_t sp, uint64_t rax);
/* Is the thread in such a call? */
bool strings_inside(const struct strings *s, uint32_t thread);

#endif
