/* SPDX-License-Identifier: MIT */
/* symbol.c: see symbol.h. */
#include "describe/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/*
 * An array of `count` elements of this size at an offset of the file; NULL: the file does not hold all of it, or it is
 * not aligned.
 */
static const void *at(const struct symbol_file *f, uint64_t offset, uint64_t count, size_t size)
{
	if (offset > f->size || count > (f->size - offset) / size || offset % 8)
		return NULL;
	return f->base + offset;
}

bool symbol_open(struct symbol_file *f, const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	const Elf64_Ehdr *eh;
	void *m;

	*f = (struct symbol_file){0};
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*eh))
		return false;
	m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m == MAP_FAILED)
		return false;
	*f = (struct symbol_file){m, (size_t)st.st_size};
	eh = m;
	return !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64;
}

void symbol_close(struct symbol_file *f)
{
	if (f->base)
		munmap((void *)f->base, f->size);
	*f = (struct symbol_file){0};
}

bool symbol_has_code(const struct symbol_file *f, uint64_t vaddr)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)f->base;
	const Elf64_Phdr *ph = at(f, eh->e_phoff, eh->e_phnum, sizeof(*ph));

	for (unsigned i = 0; ph && i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X) && vaddr >= ph[i].p_vaddr &&
		    vaddr - ph[i].p_vaddr <= ph[i].p_memsz)
			return true;
	return false;
}

/* The function with the greatest start not after vaddr; if its size is known, it must reach vaddr. */
static void search(const struct symbol_file *f, const Elf64_Shdr *sh, const Elf64_Shdr *strings, uint64_t vaddr,
		   const char **name, uint64_t *start)
{
	uint64_t n = sh->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *sym = at(f, sh->sh_offset, n, sizeof(*sym));
	const char *text = strings->sh_offset <= f->size && strings->sh_size <= f->size - strings->sh_offset
				   ? (const char *)f->base + strings->sh_offset
				   : NULL;

	for (uint64_t i = 0; sym && text && i < n; i++) {
		const Elf64_Sym *s = &sym[i];

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || s->st_value > vaddr ||
		    (s->st_size && vaddr - s->st_value > s->st_size) || (*name && s->st_value <= *start) ||
		    s->st_name >= strings->sh_size || !memchr(text + s->st_name, 0, strings->sh_size - s->st_name))
			continue;
		*name = text + s->st_name;
		*start = s->st_value;
	}
}

char *symbol_name(const struct symbol_file *f, uint64_t vaddr, uint64_t *offset)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)f->base;
	const Elf64_Shdr *sh = at(f, eh->e_shoff, eh->e_shnum, sizeof(*sh));
	const char *name = NULL;
	uint64_t start = 0;

	for (unsigned i = 0; sh && i < eh->e_shnum; i++)
		if ((sh[i].sh_type == SHT_SYMTAB || sh[i].sh_type == SHT_DYNSYM) && sh[i].sh_link < eh->e_shnum)
			search(f, &sh[i], &sh[sh[i].sh_link], vaddr, &name, &start);
	*offset = vaddr - start;
	return name ? xstrdup(name) : NULL;
}
