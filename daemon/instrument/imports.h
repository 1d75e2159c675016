/* SPDX-License-Identifier: MIT */
/*
 * imports.h: finds out which function a call by a word in memory goes to. Where an ELF file calls a function of another
 * file, a relocation names the function and the word with its address (with or without the procedure linkage table).
 * The same is true where it calls its own function with several implementations, as libc does for strlen. All is read
 * from the memory of the process, which is not trusted.
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
	const char *const *names; /* the names that are looked for: borrowed */
	size_t nnames;
	struct table slots; /* of struct import */
	struct imports_file {
		uint64_t lo, hi;
	} * files; /* that have been read */
	size_t nfiles;
	uint64_t *known; /* the addresses of all slots in ascending order; valid for this many files */
	size_t nknown, known_files;
};

void imports_init(struct imports *m, const char *const *names, size_t nnames);
void imports_fini(struct imports *m);
/* Forgets the files that were read: code has gone, and other files may be at their addresses. */
void imports_forget(struct imports *m);
/*
 * The index of the name of the function whose address is in the word at `slot` in the process; -1: it is not among the
 * names.
 */
int imports_find(struct imports *m, pid_t pid, uint64_t slot);

/* The word by which the call at pc reaches a function of another file; 0: it does not. */
uint64_t imports_slot_called(pid_t pid, uint64_t pc);

/* Reads all mapped files. Afterwards m->known is up to date. */
int imports_read(struct imports *m, pid_t pid, struct err *e);

#endif
