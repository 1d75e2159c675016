/* SPDX-License-Identifier: MIT */
/*
 * imports.h: which function a call by memory goes to: where an ELF file calls a function of another one, a relocation
 * of it names the function and the word from which its address is taken (through the procedure linkage table or not).
 * So it is where it calls its own function with several implementations, as libc does strlen.
 * Read from the memory of the process, which is not trusted.
 */
#ifndef FRED_INSTRUMENT_IMPORTS_H
#define FRED_INSTRUMENT_IMPORTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/table.h"

struct import {
	uint64_t slot; /* address of the word */
	uint32_t name; /* 1 + its index in `names`; 0: none of them */
};

struct imports {
	const char *const *names; /* those that are looked for: borrowed */
	size_t nnames;
	struct table slots; /* of struct import */
	struct imports_file {
		uint64_t lo, hi;
	} * files; /* that have been read */
	size_t nfiles;
	uint64_t *known; /* addresses of slots, in ascending order, as of this many files */
	size_t nknown, known_files;
};

void imports_init(struct imports *m, const char *const *names, size_t nnames);
void imports_fini(struct imports *m);
/* Forgets the files that have been read: code has gone, and others may be at their addresses. */
void imports_forget(struct imports *m);
/* The index of the name of the function whose address the word at `slot` holds in the process; -1: it is another one.
 */
int imports_find(struct imports *m, pid_t pid, uint64_t slot);

/* The word by which the call at pc reaches a function of another file; 0: it does not. */
uint64_t imports_slot_called(pid_t pid, uint64_t pc);

/* Reads all files that are mapped. Then m->known is up to date. */
int imports_read(struct imports *m, pid_t pid, struct err *e);

#endif
