/* SPDX-License-Identifier: MIT */
/*
 * strings.h: calls of libc's functions for memory and strings: what they read, by their arguments, their results and
 * the bytes that they load. By their accesses alone this cannot be told: they read whole vectors, also beyond what they
 * use. Where it is not known how far a string goes, nothing is told.
 */
#ifndef FRED_MEMCHECK_STRINGS_H
#define FRED_MEMCHECK_STRINGS_H

#include <stdbool.h>

#include "instrument/imports.h"
#include "memcheck/loads.h"
#include "segcursor/segcursor_report.h"

/* A call that has not returned. */
struct string_call {
	uint64_t sp; /* where its return address stands; 0: none */
	unsigned function;
	uint64_t arg[3];
	struct loads loads;
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
	uint8_t *memory; /* for each of imports.known: REPORT_CHECK_... */
	size_t memory_files; /* imports.known_files when that was made */
};

void strings_init(struct strings *s, const struct string_ops *ops, void *ctx);
/* Code has gone: which words name functions is read anew. */
void strings_forget(struct strings *s);
void strings_fini(struct strings *s);
/* A call by the word at `slot`; sp: where its return address will stand. */
void strings_call(struct strings *s, pid_t pid, uint32_t thread, uint64_t slot, const uint64_t *arg, uint64_t sp);
/*
 * r->word, r->memory and r->called_sp become those of the calls that strings_call is to be told of, as long as the
 * process maps no more files. 0 or -1.
 */
int strings_known(struct strings *s, pid_t pid, uint32_t thread, struct segcur_report *r, struct err *e);
/* libc loads these bytes. */
void strings_load(struct strings *s, uint32_t thread, uint64_t addr, const uint8_t *bytes, size_t n);
/* The return to the address at sp. Was it that of a call whose result depends on what it reads, all of which is told?
 */
bool strings_return(struct strings *s, uint32_t thread, uint64_t sp, uint64_t rax);
/* Is the thread in such a call? */
bool strings_inside(const struct strings *s, uint32_t thread);
/* In one of a function that does not only copy? */
bool strings_decides(const struct strings *s, uint32_t thread);

#endif
