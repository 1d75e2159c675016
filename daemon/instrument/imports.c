/* SPDX-License-Identifier: MIT */
/* imports.c: see imports.h. A file is read when a word of its memory is first asked for. */
#include "instrument/imports.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "trace/trace.h"

#define NAME_MAX_BYTES 64
#define HEADERS_MAX 64
#define DYNAMIC_MAX 256
#define RELOCATIONS_MAX (1u << 20)
#define SYMBOLS_MAX (1u << 20)

void imports_init(struct imports *m, const char *const *names, size_t nnames)
{
	*m = (struct imports){.names = names, .nnames = nnames};
	table_init(&m->slots, sizeof(struct import));
}

void imports_fini(struct imports *m)
{
	table_fini(&m->slots);
	free(m->files);
	free(m->known);
	*m = (struct imports){0};
}

void imports_forget(struct imports *m)
{
	const char *const *names = m->names;
	size_t nnames = m->nnames;

	imports_fini(m);
	imports_init(m, names, nnames);
}

/* ---- a file in memory ---- */

struct dynamic {
	uint64_t symtab, strtab, strsz, jmprel, pltrelsz, rela, relasz;
};

static bool get(pid_t pid, uint64_t addr, void *out, size_t n)
{
	struct err ignored;

	return !trace_read(pid, addr, out, n, &ignored);
}

/* An address from the dynamic table; the dynamic linker has relocated some of these in place. */
static uint64_t relocated(uint64_t base, uint64_t v)
{
	return v < base ? base + v : v;
}

static void see_entry(struct dynamic *d, uint64_t base, const Elf64_Dyn *e)
{
	switch (e->d_tag) {
	case DT_SYMTAB:
		d->symtab = relocated(base, e->d_un.d_ptr);
		break;
	case DT_STRTAB:
		d->strtab = relocated(base, e->d_un.d_ptr);
		break;
	case DT_JMPREL:
		d->jmprel = relocated(base, e->d_un.d_ptr);
		break;
	case DT_RELA:
		d->rela = relocated(base, e->d_un.d_ptr);
		break;
	case DT_STRSZ:
		d->strsz = e->d_un.d_val;
		break;
	case DT_PLTRELSZ:
		d->pltrelsz = e->d_un.d_val;
		break;
	case DT_RELASZ:
		d->relasz = e->d_un.d_val;
		break;
	default:
		break;
	}
}

static bool read_dynamic(pid_t pid, uint64_t at, uint64_t bias, struct dynamic *d)
{
	Elf64_Dyn e;

	for (unsigned k = 0; k < DYNAMIC_MAX && get(pid, at + k * sizeof(e), &e, sizeof(e)); k++) {
		if (e.d_tag == DT_NULL)
			return d->symtab && d->strtab;
		see_entry(d, bias, &e);
	}
	return false;
}

/* *bias: the difference between addresses in memory and in the file. */
static bool find_dynamic(pid_t pid, uint64_t base, uint64_t *bias, struct dynamic *d)
{
	uint64_t dynamic = 0, first = UINT64_MAX;
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (!get(pid, base, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned k = 0; k < h.e_phnum && k < HEADERS_MAX; k++) {
		if (!get(pid, base + h.e_phoff + k * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && p.p_vaddr < first)
			first = p.p_vaddr;
		if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_vaddr;
	}
	if (!dynamic || first == UINT64_MAX)
		return false;
	*bias = base - (first & ~4095ull);
	return read_dynamic(pid, *bias + dynamic, *bias, d);
}

/* 1 + the symbol's index in `names`; 0: it is not among them. */
static uint32_t name_of(const struct imports *m, pid_t pid, const struct dynamic *d, const Elf64_Sym *s)
{
	char name[NAME_MAX_BYTES] = "";

	if (s->st_name >= d->strsz)
		return 0;
	/* at the end of a mapping there may be less than that */
	for (size_t n = sizeof(name) - 1; n && !get(pid, d->strtab + s->st_name, name, n); n--)
		memset(name, 0, sizeof(name));
	for (size_t k = 0; k < m->nnames; k++)
		if (!strcmp(m->names[k], name))
			return (uint32_t)k + 1;
	return 0;
}

/*
 * The file's functions whose implementation depends on the processor: a relocation for such a function names the one
 * that chooses.
 */
struct chosen {
	uint64_t decides;
	uint32_t name;
};

struct choices {
	struct chosen *v;
	size_t n;
};

/* The symbol table has no length, but the names follow right after its end. */
static void read_choices(const struct imports *m, pid_t pid, const struct dynamic *d, struct choices *c)
{
	size_t n = d->strtab > d->symtab ? (d->strtab - d->symtab) / sizeof(Elf64_Sym) : 0;
	cleanup_free Elf64_Sym *v = NULL;

	if (!n || n > SYMBOLS_MAX)
		return;
	v = xcalloc(n, sizeof(*v));
	if (!get(pid, d->symtab, v, n * sizeof(*v)))
		return;
	for (size_t k = 0; k < n; k++) {
		uint32_t name;

		if (ELF64_ST_TYPE(v[k].st_info) != STT_GNU_IFUNC || v[k].st_shndx == SHN_UNDEF)
			continue;
		name = name_of(m, pid, d, &v[k]);
		if (!name)
			continue;
		c->v = xreallocarray(c->v, c->n + 1, sizeof(*c->v));
		c->v[c->n++] = (struct chosen){v[k].st_value, name};
	}
}

static uint32_t imported(const struct imports *m, pid_t pid, const struct dynamic *d, const struct choices *c,
			 const Elf64_Rela *r)
{
	uint64_t type = ELF64_R_TYPE(r->r_info);
	Elf64_Sym s;

	if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
		return get(pid, d->symtab + ELF64_R_SYM(r->r_info) * sizeof(s), &s, sizeof(s)) ? name_of(m, pid, d, &s)
											       : 0;
	for (size_t k = 0; type == R_X86_64_IRELATIVE && k < c->n; k++)
		if (c->v[k].decides == (uint64_t)r->r_addend)
			return c->v[k].name;
	return 0;
}

static void read_relocations(struct imports *m, pid_t pid, const struct dynamic *d, const struct choices *c,
			     uint64_t bias, uint64_t at, uint64_t bytes)
{
	size_t n = bytes / sizeof(Elf64_Rela);
	cleanup_free Elf64_Rela *v = NULL;

	if (!at || !n || n > RELOCATIONS_MAX)
		return;
	v = xcalloc(n, sizeof(*v));
	if (!get(pid, at, v, n * sizeof(*v)))
		return;
	for (size_t k = 0; k < n; k++) {
		uint32_t name = imported(m, pid, d, c, &v[k]);

		if (name)
			((struct import *)table_add(&m->slots, bias + v[k].r_offset))->name = name;
	}
}

/* ---- files ---- */

/* The file to whose mappings addr belongs; where these begin and end. */
static bool extent(pid_t pid, uint64_t addr, struct imports_file *f)
{
	cleanup_maps struct maps maps = {0};
	struct mapping v;
	struct err ignored;
	char *path = NULL;
	bool found = false;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &v)) {
		bool other = v.path[0] == '/' && (!path || strcmp(path, v.path) != 0);

		if (found && other)
			break;
		if (other) {
			free(path);
			path = xstrdup(v.path);
			f->lo = v.lo;
		}
		if (path && !strcmp(path, v.path)) {
			f->hi = v.hi;
			found |= mapping_has(&v, addr);
		}
	}
	free(path);
	return found;
}

static bool is_read(const struct imports *m, uint64_t addr)
{
	for (size_t k = 0; k < m->nfiles; k++)
		if (addr >= m->files[k].lo && addr < m->files[k].hi)
			return true;
	return false;
}

static void read_file(struct imports *m, pid_t pid, uint64_t addr)
{
	struct imports_file f = {0};
	struct dynamic d = {0};
	struct choices c = {0};
	uint64_t bias;

	if (!extent(pid, addr, &f))
		f = (struct imports_file){addr, addr + 1};
	m->files = xreallocarray(m->files, m->nfiles + 1, sizeof(*m->files));
	m->files[m->nfiles++] = f;
	if (!find_dynamic(pid, f.lo, &bias, &d))
		return;
	read_choices(m, pid, &d, &c);
	read_relocations(m, pid, &d, &c, bias, d.jmprel, d.pltrelsz);
	read_relocations(m, pid, &d, &c, bias, d.rela, d.relasz);
	free(c.v);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int imports_read(struct imports *m, pid_t pid, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping v;

	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &v))
		if (v.exec && v.path[0] == '/' && !is_read(m, v.lo))
			read_file(m, pid, v.lo);
	if (m->known_files == m->nfiles)
		return 0;
	free(m->known);
	m->known = xcalloc(m->slots.n + 1, sizeof(*m->known));
	m->nknown = 0;
	for (const struct import *i = NULL; (i = table_next(&m->slots, i));)
		m->known[m->nknown++] = i->slot;
	qsort(m->known, m->nknown, sizeof(*m->known), by_address);
	m->known_files = m->nfiles;
	return 0;
}

int imports_find(struct imports *m, pid_t pid, uint64_t slot)
{
	const struct import *found;

	if (!is_read(m, slot))
		read_file(m, pid, slot);
	found = table_find(&m->slots, slot);
	return found ? (int)found->name - 1 : -1;
}

/* ---- calls ---- */

#define CODE_BYTES 12

/* If it is a jmp or call by a word at a fixed distance: the word's address; else 0. */
static uint64_t slot_of(const uint8_t *code, uint64_t pc, uint8_t modrm)
{
	int32_t distance;
	unsigned at = code[0] == 0xf2; /* the bnd prefix */

	if (code[at] != 0xff || code[at + 1] != modrm)
		return 0;
	memcpy(&distance, code + at + 2, sizeof(distance));
	return pc + at + 2 + sizeof(distance) + (uint64_t)(int64_t)distance;
}

uint64_t imports_slot_called(pid_t pid, uint64_t pc)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[CODE_BYTES];
	int32_t distance;
	uint64_t to;
	unsigned at;
	struct err ignored;

	if (trace_read(pid, pc, code, sizeof(code), &ignored))
		return 0;
	at = code[0] == 0xf2;
	if (code[at] != 0xe8)
		return slot_of(code, pc, 0x15);
	memcpy(&distance, code + at + 1, sizeof(distance));
	to = pc + at + 1 + sizeof(distance) + (uint64_t)(int64_t)distance;
	if (trace_read(pid, to, code, sizeof(code), &ignored))
		return 0;
	at = memcmp(code, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);
	return slot_of(code + at, to + at, 0x25);
}
