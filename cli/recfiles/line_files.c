/* SPDX-License-Identifier: MIT */
/*
 * line_files.c: see line_files.h. DWARF 2 to 5, section "The Line Number Program Header". libdw's own dwarf_getsrcfiles
 * reads all lines too, which takes seconds for large programs.
 */
#include "recfiles/line_files.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

/* Bytes that are consumed from the front. A read beyond the end sets `bad` and gives 0. */
struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

struct tables {
	struct bytes line, line_str, str;
};

struct found {
	const char *dir;
	void (*add)(void *arg, const char *dir, const char *name);
	void *arg;
};

static uint64_t number(struct bytes *b, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, n);
	b->p += n;
	return v;
}

static uint64_t leb(struct bytes *b)
{
	uint64_t v = 0, byte = 0x80;

	for (unsigned shift = 0; (byte & 0x80) && !b->bad; shift += 7) {
		byte = number(b, 1);
		v |= shift < 64 ? (byte & 0x7f) << shift : 0;
	}
	return v;
}

static const char *string(struct bytes *b)
{
	const uint8_t *end = b->p < b->end ? memchr(b->p, 0, (size_t)(b->end - b->p)) : NULL;
	const char *s = (const char *)b->p;

	if (!end) {
		b->bad = true;
		return "";
	}
	b->p = end + 1;
	return s;
}

static const char *string_at(const struct bytes *section, uint64_t offset)
{
	struct bytes b = *section;

	if (offset >= (uint64_t)(b.end - b.p))
		return "";
	b.p += offset;
	return string(&b);
}

static void skip(struct bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->p))
		b->bad = true;
	else
		b->p += n;
}

/* A value of an entry: a string, or a number. Forms that a line table cannot have are bad. */
static uint64_t value(struct bytes *b, const struct tables *t, uint64_t form, size_t word, const char **text)
{
	switch (form) {
	case DW_FORM_string:
		*text = string(b);
		return 0;
	case DW_FORM_line_strp:
		*text = string_at(&t->line_str, number(b, word));
		return 0;
	case DW_FORM_strp:
		*text = string_at(&t->str, number(b, word));
		return 0;
	case DW_FORM_udata:
		return leb(b);
	case DW_FORM_data1:
		return number(b, 1);
	case DW_FORM_data2:
		return number(b, 2);
	case DW_FORM_data4:
		return number(b, 4);
	case DW_FORM_data8:
		return number(b, 8);
	case DW_FORM_data16:
		skip(b, 16);
		return 0;
	case DW_FORM_block:
		skip(b, leb(b));
		return 0;
	default:
		b->bad = true;
		return 0;
	}
}

static void add_file(const struct found *f, const char *folder, uint64_t index, const char *name)
{
	cleanup_free char *path = NULL;

	if (!*name || *name == '<') /* "<built-in>" */
		return;
	if (*name != '/' && index && folder)
		path = str_fmt("%s/%s", folder, name);
	f->add(f->arg, f->dir, path ? path : name);
}

static void list_v4(struct bytes *b, const struct found *f)
{
	cleanup_strv struct strv folders = {0};
	const char *s;

	while (*(s = string(b)) && !b->bad)
		strv_add(&folders, s);
	while (*(s = string(b)) && !b->bad) {
		uint64_t index = leb(b);

		leb(b);
		leb(b);
		add_file(f, index && index <= folders.n ? folders.s[index - 1] : NULL, index, s);
	}
}

/*
 * Reads one of the two tables of version 5. The table of folders is stored in `folders`; each file of the other one is
 * reported.
 */
static void table_v5(struct bytes *b, const struct tables *t, size_t word, struct strv *folders, const struct found *f)
{
	uint64_t format[2 * 255], formats = number(b, 1), n;

	for (uint64_t i = 0; i < 2 * formats; i++)
		format[i] = leb(b);
	n = leb(b);
	while (n-- && !b->bad) {
		const char *name = "", *text = "";
		uint64_t folder = 0;

		for (uint64_t i = 0; i < formats; i++) {
			uint64_t v = value(b, t, format[2 * i + 1], word, &text);

			if (format[2 * i] == DW_LNCT_path)
				name = text;
			if (format[2 * i] == DW_LNCT_directory_index)
				folder = v;
		}
		if (f)
			add_file(f, folder < folders->n ? folders->s[folder] : NULL, folder, name);
		else
			strv_add(folders, name);
	}
}

static void list_header(const struct tables *t, uint64_t offset, const struct found *f)
{
	cleanup_strv struct strv folders = {0};
	struct bytes b = t->line;
	uint64_t version, length;
	size_t word = 4;

	skip(&b, offset);
	length = number(&b, 4);
	if (length == 0xffffffff) {
		word = 8;
		length = number(&b, 8);
	}
	if (b.bad || length > (uint64_t)(b.end - b.p))
		return;
	b.end = b.p + length;
	version = number(&b, 2);
	if (version < 2 || version > 5)
		return;
	skip(&b, version == 5 ? 2 : 0); /* sizes of addresses and segments */
	number(&b, word);
	skip(&b, version >= 4 ? 5 : 4);
	length = number(&b, 1); /* number of opcodes that have a length here, plus one */
	skip(&b, length ? length - 1 : 0);
	if (version < 5) {
		list_v4(&b, f);
		return;
	}
	table_v5(&b, t, word, &folders, NULL);
	table_v5(&b, t, word, &folders, f);
}

/* Its bytes, which stay as long as the ELF file is open. */
static struct bytes section(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d;

	if (sh->sh_flags & SHF_COMPRESSED)
		elf_compress(scn, 0, 0);
	d = elf_rawdata(scn, NULL);
	return d && d->d_buf ? (struct bytes){d->d_buf, (const uint8_t *)d->d_buf + d->d_size, false}
			     : (struct bytes){0};
}

static void find_tables(Elf *elf, struct tables *t)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		if (str_eq(name, ".debug_line"))
			t->line = section(scn, &sh);
		else if (str_eq(name, ".debug_line_str"))
			t->line_str = section(scn, &sh);
		else if (str_eq(name, ".debug_str"))
			t->str = section(scn, &sh);
	}
}

static int list_units(Dwarf *dw, const struct tables *t, double until, struct found *f)
{
	Dwarf_Off off = 0, next;
	Dwarf_Word last = ~0ull;
	size_t head;

	for (; !dwarf_nextcu(dw, off, &next, &head, NULL, NULL, NULL); off = next) {
		Dwarf_Attribute dir, lines;
		Dwarf_Word at;
		Dwarf_Die die;

		if (clock_s() > until)
			return 1;
		if (!dwarf_offdie(dw, off + head, &die) ||
		    dwarf_formudata(dwarf_attr(&die, DW_AT_stmt_list, &lines), &at) || at == last)
			continue;
		f->dir = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &dir));
		f->dir = f->dir ? f->dir : "";
		list_header(t, at, f);
		last = at;
	}
	return 0;
}

int line_files_each(const char *path, double until, void (*add)(void *arg, const char *dir, const char *name),
		    void *arg)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct found f = {.add = add, .arg = arg};
	struct tables t = {0};
	Dwarf *dw = NULL;
	Elf *elf;
	int r = 0;

	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL) : NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF)
		find_tables(elf, &t);
	if (t.line.p)
		dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dw)
		r = list_units(dw, &t, until, &f);
	dwarf_end(dw);
	elf_end(elf);
	return r;
}
