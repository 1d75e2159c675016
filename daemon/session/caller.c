/* SPDX-License-Identifier: MIT */
/* caller.c: see caller.h. */
#include "session/caller.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"

/* Where the file of that mapping begins. */
static bool find_start(pid_t pid, const char *path, uint64_t *lo)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &m))
		if (!m.offset && !strcmp(m.path, path)) {
			*lo = m.lo;
			return true;
		}
	return false;
}

static Dwfl_Module *report(Dwfl *dwfl, pid_t pid, const char *path)
{
	cleanup_free char *file = str_fmt("/proc/%d/root%s", (int)pid, path);
	Dwfl_Module *mod;
	uint64_t lo;

	dwfl_report_begin(dwfl);
	mod = find_start(pid, path, &lo) ? dwfl_report_elf(dwfl, path, file, -1, lo, false) : NULL;
	dwfl_report_end(dwfl, NULL, NULL);
	return mod;
}

/* The file of the line that pc is in; NULL: not known. Units are gone through: not all compilers list their addresses (.debug_aranges). */
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

void caller_add(struct buf *b, pid_t pid, uint64_t pc)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo};
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
