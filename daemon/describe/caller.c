/* SPDX-License-Identifier: MIT */
/* caller.c: see caller.h. */
#include "describe/caller.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"

static Dwfl_Module *report(Dwfl *dwfl, pid_t pid, const char *path)
{
	cleanup_free char *file = str_fmt("/proc/%d/root%s", (int)maps_owner(pid), path);
	Dwfl_Module *mod;
	uint64_t lo;

	dwfl_report_begin(dwfl);
	mod = maps_find_start(pid, path, &lo) ? dwfl_report_elf(dwfl, path, file, -1, lo, false) : NULL;
	dwfl_report_end(dwfl, NULL, NULL);
	return mod;
}

/*
 * The file of the line that contains pc; NULL: not known. Goes through all units, since not all compilers list their
 * addresses (.debug_aranges).
 */
static const char *find_line(Dwfl_Module *mod, uint64_t pc, int *number)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Line *line = NULL;
	Dwarf_Addr bias;

	while (!line && (unit = dwfl_module_nextcu(mod, unit, &bias)) != NULL)
		if (dwarf_haspc(unit, pc - bias) == 1)
			line = dwarf_getsrc_die(unit, pc - bias);
	return line && !dwarf_lineno(line, number) ? dwarf_linesrc(line, NULL, NULL) : NULL;
}

static void add(struct buf *b, Dwfl_Module *mod, const char *path, uint64_t pc)
{
	int number;
	const char *name = dwfl_module_addrname(mod, pc - 1), *source = find_line(mod, pc - 1, &number);
	Dwarf_Addr at = pc;

	if (name)
		buf_addf(b, "%s %s ", name, source ? "at" : "in");
	if (source) {
		buf_addf(b, "%s:%d", source, number);
		return;
	}
	dwfl_module_relocate_address(mod, &at);
	buf_addf(b, "%s+0x%" PRIx64, path, (uint64_t)at);
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

void caller_add(struct buf *b, pid_t pid, uint64_t pc)
{
	struct mapping m;
	Dwfl_Module *mod;
	Dwfl *dwfl;

	if (!maps_find(pid, pc, &m) || m.path[0] != '/') {
		buf_addf(b, "0x%" PRIx64, pc);
		return;
	}
	dwfl = dwfl_begin(&callbacks);
	mod = dwfl ? report(dwfl, pid, m.path) : NULL;
	if (mod)
		add(b, mod, m.path, pc);
	else
		buf_addf(b, "%s+0x%" PRIx64, m.path, pc - m.lo + m.offset);
	if (dwfl)
		dwfl_end(dwfl);
}

char *caller_line(pid_t pid, uint64_t pc, int *line)
{
	struct mapping m;
	bool known = maps_find(pid, pc, &m) && m.path[0] == '/';
	Dwfl *dwfl = known ? dwfl_begin(&callbacks) : NULL;
	Dwfl_Module *mod = dwfl ? report(dwfl, pid, m.path) : NULL;
	const char *source = mod ? find_line(mod, pc, line) : NULL;
	char *file = source ? xstrdup(source) : NULL;

	if (dwfl)
		dwfl_end(dwfl);
	return file;
}

/* The address in mod of the byte at this offset of its file; 0: no segment contains it. */
static uint64_t address_of(Dwfl_Module *mod, uint64_t offset)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	size_t n = 0;
	GElf_Phdr ph;

	if (!elf || elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && offset >= ph.p_offset &&
		    offset - ph.p_offset < ph.p_filesz)
			return offset - ph.p_offset + ph.p_vaddr + bias;
	return 0;
}

void caller_add_in_file(struct buf *b, const char *path, uint64_t offset)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *mod = NULL;
	uint64_t pc;

	if (dwfl) {
		dwfl_report_begin(dwfl);
		mod = dwfl_report_elf(dwfl, path, path, -1, 0, false);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	pc = mod ? address_of(mod, offset) : 0;
	if (pc)
		add(b, mod, path, pc);
	else
		buf_addf(b, "%s+0x%" PRIx64, path, offset);
	if (dwfl)
		dwfl_end(dwfl);
}

/* ---- variables ---- */

#define TYPES_MAX 32 /* nested in each other */

/* The type of a variable or member, or of an array's elements, without typedefs and qualifiers. */
static Dwarf_Die *type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type) &&
			       dwarf_peel_type(type, type) == 0
		       ? type
		       : NULL;
}

static bool member_at(Dwarf_Die *type, uint64_t offset, Dwarf_Die *member, uint64_t *start)
{
	Dwarf_Attribute attr;
	Dwarf_Word at, size;
	Dwarf_Die of;

	if (dwarf_child(type, member))
		return false;
	do {
		if (dwarf_tag(member) != DW_TAG_member || !dwarf_diename(member))
			continue;
		at = 0; /* of a union */
		if (dwarf_attr(member, DW_AT_data_member_location, &attr) && dwarf_formudata(&attr, &at))
			continue;
		if (type_of(member, &of) && dwarf_aggregate_size(&of, &size) == 0 && offset >= at &&
		    offset - at < size) {
			*start = at;
			return true;
		}
	} while (dwarf_siblingof(member, member) == 0);
	return false;
}

/* Is the type the object that a user calls the lock? Its members belong to libc. */
static bool is_lock(Dwarf_Die *die)
{
	static const char *const names[] = {"pthread_mutex_t", "pthread_rwlock_t", "pthread_cond_t",
					    "pthread_barrier_t", "sem_t"};
	Dwarf_Attribute attr;
	Dwarf_Die type;
	const char *name;

	for (int i = 0;
	     i < TYPES_MAX && dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type); i++) {
		name = dwarf_diename(&type);
		for (unsigned k = 0; name && k < sizeof(names) / sizeof(names[0]); k++)
			if (str_eq(name, names[k]))
				return true;
		die = &type;
		if (dwarf_tag(die) != DW_TAG_typedef && dwarf_tag(die) != DW_TAG_const_type &&
		    dwarf_tag(die) != DW_TAG_volatile_type)
			break;
	}
	return false;
}

/* Appends ".member" and "[index]" for the offset in a variable. */
static void add_path(struct buf *b, Dwarf_Die *die, uint64_t offset)
{
	Dwarf_Die here = *die, type, next;
	Dwarf_Word size;
	uint64_t start;

	for (int i = 0; i < TYPES_MAX && !is_lock(&here) && type_of(&here, &type); i++) {
		if (dwarf_tag(&type) == DW_TAG_array_type) {
			if (!type_of(&type, &next) || dwarf_aggregate_size(&next, &size) || !size)
				break;
			buf_addf(b, "[%" PRIu64 "]", offset / size);
			offset %= size;
			here = type; /* then the type of its elements */
		} else if (member_at(&type, offset, &next, &start)) {
			buf_addf(b, ".%s", dwarf_diename(&next));
			offset -= start;
			here = next;
		} else {
			break;
		}
	}
}

/* The variable at file scope that is at addr (as in the debugging information). */
static bool variable_at(Dwarf_Die *unit, uint64_t addr, Dwarf_Die *die, uint64_t *start)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	Dwarf_Word size;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_child(unit, die))
		return false;
	do {
		if (dwarf_tag(die) != DW_TAG_variable || !dwarf_attr(die, DW_AT_location, &attr) ||
		    dwarf_getlocation(&attr, &op, &n) || n != 1 || op->atom != DW_OP_addr || op->number > addr)
			continue;
		if (type_of(die, &type) && dwarf_aggregate_size(&type, &size) == 0 && addr - op->number < size) {
			*start = op->number;
			return true;
		}
	} while (dwarf_siblingof(die, die) == 0);
	return false;
}

static bool add_variable(struct buf *b, Dwfl_Module *mod, uint64_t addr)
{
	Dwarf_Die *unit = NULL, die;
	const char *name, *file;
	Dwarf_Addr bias;
	GElf_Off offset;
	GElf_Sym sym;
	uint64_t start;
	int line;

	while ((unit = dwfl_module_nextcu(mod, unit, &bias)) != NULL) {
		if (!variable_at(unit, addr - bias, &die, &start) || !(name = dwarf_diename(&die)))
			continue;
		buf_addf(b, "%s", name);
		add_path(b, &die, addr - bias - start);
		file = dwarf_decl_file(&die);
		if (file && !dwarf_decl_line(&die, &line))
			buf_addf(b, " (%s:%d)", path_base(file), line);
		return true;
	}
	name = dwfl_module_addrinfo(mod, addr, &offset, &sym, NULL, NULL, NULL);
	if (!name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || offset >= sym.st_size)
		return false;
	buf_addf(b, "%s", name);
	if (offset)
		buf_addf(b, "+0x%" PRIx64, (uint64_t)offset);
	return true;
}

/* The file of this mapping; a mapping without a file that follows one with a file is that file's zeroed data (.bss). */
static bool file_of(pid_t pid, uint64_t addr, char path[sizeof(((struct mapping *)0)->path)])
{
	cleanup_maps struct maps maps = {0};
	uint64_t end = 0;
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &m) && m.lo <= addr) {
		if (m.path[0] == '/')
			strcpy(path, m.path);
		else if (m.path[0] || m.lo != end)
			end = 0, *path = '\0';
		end = m.hi;
		if (mapping_has(&m, addr))
			return *path == '/';
	}
	return false;
}

bool caller_add_variable(struct buf *b, pid_t pid, uint64_t addr)
{
	char path[sizeof(((struct mapping *)0)->path)] = "";
	Dwfl_Module *mod;
	bool found;
	Dwfl *dwfl;

	if (!file_of(pid, addr, path) || !(dwfl = dwfl_begin(&callbacks)))
		return false;
	mod = report(dwfl, pid, path);
	found = mod && add_variable(b, mod, addr);
	dwfl_end(dwfl);
	return found;
}
