/* SPDX-License-Identifier: MIT */
/* symbol.h: which function of an ELF file an address is in. The file is not trusted: any contents are safe. */
#ifndef FRED_DESCRIBE_SYMBOL_H
#define FRED_DESCRIBE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file {
	const uint8_t *base; /* mapped; NULL: none */
	size_t size;
};

/* false: not a 64-bit ELF file. Close it in any case. */
bool symbol_open(struct symbol_file *f, const char *path);
void symbol_close(struct symbol_file *f);
/* Does its code hold this address (as in its program headers, not relocated)? */
bool symbol_has_code(const struct symbol_file *f, uint64_t vaddr);
/* The name of the function there, malloc'd; NULL: not known. *offset: from its start. */
char *symbol_name(const struct symbol_file *f, uint64_t vaddr, uint64_t *offset);

#endif
