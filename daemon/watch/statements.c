/* SPDX-License-Identifier: MIT */
/* statements.c: see statements.h. Files are read when the first address in them is asked for. */
#include "watch/statements.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"
#include "rlog/rlog.h"

#define CACHED 4096u /* addresses, a power of two */
/* files with code whose line tables are kept; the code of further files belongs to no statement */
#define MODULES 32u

struct module {
	uint64_t lo, hi; /* address range of the mapping that has the code */
	char *path;
	Dwfl *dwfl; /* NULL: the file has no lines of the program's own */
	Dwfl_Module *mod;
	Dwarf_Die *unit; /* the unit of the last address that was looked up */
	Dwarf_Addr bias;
};

struct statements {
	struct module module[MODULES];
	unsigned n;
	struct {
		uint64_t pc, line;
		bool begins;
	} cache[CACHED];
};

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

struct statements *statements_new(void)
{
	return xcalloc(1, sizeof(struct statements));
}

void statements_free(struct statements *s)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		if (s->module[i].dwfl)
			dwfl_end(s->module[i].dwfl);
		free(s->module[i].path);
	}
	free(s);
}

static void read_file(struct module *m, pid_t pid)
{
	cleanup_free char *file = str_fmt("/proc/%d/root%s", (int)maps_owner(pid), m->path);
	uint64_t lo;

	if (m->path[0] != '/' || path_is_system(m->path) || strstr(m->path, RLOG_SHIM_NAME) ||
	    !maps_find_start(pid, m->path, &lo))
		return;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl)
		return;
	dwfl_report_begin(m->dwfl);
	m->mod = dwfl_report_elf(m->dwfl, m->path, file, -1, lo, false);
	dwfl_report_end(m->dwfl, NULL, NULL);
	if (m->mod)
		return;
	dwfl_end(m->dwfl);
	m->dwfl = NULL;
}

static struct module *module_at(struct statements *s, pid_t pid, uint64_t pc)
{
	struct mapping found;
	struct module *m;

	for (unsigned i = 0; i < s->n; i++)
		if (pc >= s->module[i].lo && pc < s->module[i].hi)
			return &s->module[i];
	if (s->n == MODULES || !maps_find(pid, pc, &found))
		return NULL;
	m = &s->module[s->n++];
	*m = (struct module){.lo = found.lo, .hi = found.hi, .path = xstrdup(found.path)};
	read_file(m, pid);
	return m;
}

/* Units are gone through: not all compilers list their addresses (.debug_aranges). */
static Dwarf_Die *unit_at(struct module *m, uint64_t pc)
{
	Dwarf_Die *unit = NULL;

	if (m->unit && dwarf_haspc(m->unit, pc - m->bias) == 1)
		return m->unit;
	while ((unit = dwfl_module_nextcu(m->mod, unit, &m->bias)) != NULL)
		if (dwarf_haspc(unit, pc - m->bias) == 1)
			break;
	m->unit = unit;
	return unit;
}

/* FNV-1a. */
static uint64_t number_of(const char *path, int line)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3u;
	h = (h ^ (unsigned)line) * 0x100000001b3u;
	return h ? h : 1;
}

/* Does a statement of this line begin at the address? Optimised code has several rows for one address, of which the
 * last one tells the line, and an earlier one that a statement begins. */
static bool begins_at(Dwarf_Die *unit, Dwarf_Addr address, int number)
{
	Dwarf_Lines *lines;
	size_t n, lo = 0, hi;
	Dwarf_Line *row;
	Dwarf_Addr at;

	if (dwarf_getsrclines(unit, &lines, &n))
		return false;
	for (hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		row = dwarf_onesrcline(lines, mid);
		if (!row || dwarf_lineaddr(row, &at))
			return false;
		if (at < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n; lo++) {
		bool is_stmt, ends;
		int line;

		row = dwarf_onesrcline(lines, lo);
		if (!row || dwarf_lineaddr(row, &at) || at != address)
			return false;
		if (!dwarf_linebeginstatement(row, &is_stmt) && is_stmt && !dwarf_lineno(row, &line) &&
		    line == number && !dwarf_lineendsequence(row, &ends) && !ends)
			return true;
	}
	return false;
}

static uint64_t look_up(struct module *m, uint64_t pc, bool *begins)
{
	Dwarf_Die *unit = unit_at(m, pc);
	Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, pc - m->bias) : NULL;
	const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!path || dwarf_lineno(line, &number) || !number || path_is_system(path))
		return 0;
	*begins = begins_at(unit, pc - m->bias, number);
	return number_of(path, number);
}

uint64_t statements_at(struct statements *s, pid_t pid, uint64_t pc, bool *begins)
{
	unsigned slot = (unsigned)((pc ^ pc >> 12) & (CACHED - 1));
	struct module *m;

	*begins = false;
	if (s->cache[slot].pc != pc) {
		m = module_at(s, pid, pc);
		s->cache[slot].line = m && m->dwfl ? look_up(m, pc, begins) : 0;
		s->cache[slot].pc = pc;
		s->cache[slot].begins = *begins;
	}
	*begins = s->cache[slot].begins;
	return s->cache[slot].line;
}
