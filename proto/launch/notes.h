/* SPDX-License-Identifier: MIT */
/*
 * notes.h: finds out from the notes of an ELF file (elf(5), PT_NOTE) whether the program can be recorded. Freestanding:
 * the shim includes it too. Go's functions run on stacks of a few KiB without a guard page, and Go has its own signal
 * handlers run on another stack (SA_ONSTACK). The recorder's handler runs on the stack on which the system call was
 * made: there it would overwrite what is below.
 */
#ifndef FRED_LAUNCH_NOTES_H
#define FRED_LAUNCH_NOTES_H

#include <elf.h>
#include <stdint.h>

/* notes: n bytes, aligned to 4. 1: one of them is Go's. */
static inline int launch_notes_are_go(const void *notes, uint64_t n)
{
	const uint8_t *p = notes;
	uint64_t at = 0;

	while (at + sizeof(Elf64_Nhdr) + 4 <= n) {
		const Elf64_Nhdr *h = (const Elf64_Nhdr *)(p + at);
		const uint8_t *owner = (const uint8_t *)(h + 1);

		if (h->n_namesz >= 3 && h->n_namesz <= 4 && owner[0] == 'G' && owner[1] == 'o' && !owner[2])
			return 1;
		at += sizeof(*h) + (((uint64_t)h->n_namesz + 3) & ~3ull) + (((uint64_t)h->n_descsz + 3) & ~3ull);
	}
	return 0;
}

#endif
