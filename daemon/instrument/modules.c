/* SPDX-License-Identifier: MIT */
/* modules.c: see modules.h. */
#include "instrument/modules.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"
#include "rlog/rlog.h"

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

void modules_init(struct code_files *m)
{
	memset(m, 0, sizeof(*m));
}

void modules_fini(struct code_files *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i]->dwfl)
			dwfl_end(m->v[i]->dwfl);
		strv_fini(&m->v[i]->absolute);
		free(m->v[i]->vars);
		free(m->v[i]->path);
		free(m->v[i]);
	}
	free(m->v);
	memset(m, 0, sizeof(*m));
}

/* ---- files ---- */

static enum module_kind kind_of(const char *path)
{
	static const char *const runtime[] = {"libc.so",   "libc-",    "libm.so", "libpthread", "librt.so",  "libdl.so",
					      "libstdc++", "libgcc_s", "libc++",  "libatomic.", "libresolv", "libnss_"};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (str_starts(name, RLOG_SHIM_NAME))
		return MODULE_RECORDER;
	if (str_starts(name, "ld-linux") || str_starts(name, "ld-2") || str_starts(name, "[vdso]"))
		return MODULE_LOADER;
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		if (str_starts(name, runtime[i]))
			return MODULE_RUNTIME;
	return MODULE_PROGRAM;
}

static bool is_system(const char *path, const char *root)
{
	return path_is_system(root && str_starts(path, root) ? path + strlen(root) : path);
}

static void read_file(struct code_file *m, pid_t pid)
{
	cleanup_free char *file = str_fmt("/proc/%d/root%s", (int)maps_owner(pid), m->path);

	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl)
		return;
	dwfl_report_begin(m->dwfl);
	m->mod = dwfl_report_elf(m->dwfl, m->path, file, -1, m->lo, false);
	dwfl_report_end(m->dwfl, NULL, NULL);
	if (m->mod)
		return;
	dwfl_end(m->dwfl);
	m->dwfl = NULL;
}

/* What is mapped of one file, and the anonymous memory right after it: its zeroed data. */
static void extent(pid_t pid, struct code_file *m)
{
	cleanup_maps struct maps maps = {0};
	struct mapping v;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return;
	while (maps_next(&maps, &v)) {
		if (!strcmp(v.path, m->path)) {
			if (v.lo < m->lo)
				m->lo = v.lo;
			if (v.hi > m->hi)
				m->hi = v.hi;
		} else if (v.lo == m->hi && !v.path[0]) {
			m->hi = v.hi;
		}
	}
}

static bool find_mapping(pid_t pid, uint64_t addr, struct mapping *out)
{
	cleanup_maps struct maps maps = {0};
	struct mapping v, file = {0};
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &v) && v.lo <= addr) {
		if (v.path[0] == '/' || v.path[0] == '[')
			file = v;
		else if (file.hi != v.lo)
			file = v;
		else
			file.hi = v.hi;
		if (mapping_has(&v, addr)) {
			*out = file;
			return file.path[0] != 0;
		}
	}
	return false;
}

void modules_forget(struct code_files *m, pid_t pid)
{
	struct mapping v;

	for (size_t i = 0; i < m->n; i++)
		if (!maps_find(pid, m->v[i]->lo, &v) || strcmp(v.path, m->v[i]->path) != 0)
			m->v[i]->hi = m->v[i]->lo;
}

struct code_file *modules_at(struct code_files *m, pid_t pid, uint64_t addr)
{
	struct mapping v;
	struct code_file *x;

	for (size_t i = 0; i < m->n; i++)
		if (addr >= m->v[i]->lo && addr < m->v[i]->hi)
			return m->v[i];
	m->pid = pid;
	if (!find_mapping(pid, addr, &v))
		return NULL;
	x = xcalloc(1, sizeof(*x));
	*x = (struct code_file){.lo = v.lo,
				.hi = v.hi,
				.path = xstrdup(v.path),
				.kind = kind_of(v.path),
				.system = is_system(v.path, m->root)};
	extent(pid, x);
	if (v.path[0] == '/' && x->kind != MODULE_RECORDER)
		read_file(x, pid);
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 16;
		m->v = xreallocarray(m->v, m->cap, sizeof(struct code_file *));
	}
	m->v[m->n++] = x;
	return x;
}

/* ---- lines ---- */

/* All units are tried, since not all compilers list their addresses (.debug_aranges). */
Dwarf_Die *module_unit(struct code_file *m, uint64_t pc, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = NULL;

	if (!m->mod)
		return NULL;
	if (!m->unit || dwarf_haspc(m->unit, pc - m->bias) != 1) {
		while ((unit = dwfl_module_nextcu(m->mod, unit, &m->bias)) != NULL)
			if (dwarf_haspc(unit, pc - m->bias) == 1)
				break;
		m->unit = unit;
	}
	*bias = m->bias;
	return m->unit;
}

/* The absolute form of a name in the line table; relative ones are relative to the compiler's folder. */
static const char *absolute(struct code_file *m, Dwarf_Die *unit, const char *name)
{
	Dwarf_Attribute a;
	const char *dir = name && name[0] != '/' ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &a)) : NULL;
	cleanup_free char *path = dir ? path_join(dir, name) : NULL;

	if (!path)
		return name;
	for (size_t i = 0; i < m->absolute.n; i++)
		if (str_eq(m->absolute.s[i], path))
			return m->absolute.s[i];
	strv_add(&m->absolute, path);
	return m->absolute.s[m->absolute.n - 1];
}

const char *module_line(struct code_file *m, uint64_t pc, int *line)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = module_unit(m, pc, &bias);
	Dwarf_Line *l = unit ? dwarf_getsrc_die(unit, pc - bias) : NULL;

	return l && !dwarf_lineno(l, line) && *line ? absolute(m, unit, dwarf_linesrc(l, NULL, NULL)) : NULL;
}

/* Where the inlined function of this scope was called; path NULL: not known. */
static struct module_call call_of(struct code_file *m, Dwarf_Die *unit, Dwarf_Die *scope)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t n;

	if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &a), &file) ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &a), &line) || dwarf_getsrcfiles(unit, &files, &n) ||
	    file >= n)
		return (struct module_call){0};
	return (struct module_call){absolute(m, unit, dwarf_filesrc(files, file, NULL, NULL)), (int)line};
}

size_t module_inlined(struct code_file *m, uint64_t pc, struct module_call *v)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = module_unit(m, pc, &bias), *inner = NULL, *scopes = NULL;
	bool known = unit && dwarf_getscopes(unit, pc - bias, &inner) > 0;
	int around = known ? dwarf_getscopes_die(inner, &scopes) : 0;
	size_t n = 0;

	for (int k = 0; k < around && n < MODULE_INLINED && dwarf_tag(&scopes[k]) != DW_TAG_subprogram; k++)
		if (dwarf_tag(&scopes[k]) == DW_TAG_inlined_subroutine)
			v[n++] = call_of(m, unit, &scopes[k]);
	free(scopes);
	free(inner);
	return n;
}

const char *module_line_outside(struct code_file *m, uint64_t pc, bool (*skip)(const char *path), int *line)
{
	struct module_call calls[MODULE_INLINED];
	const char *path = module_line(m, pc, line);
	size_t n = path && skip(path) ? module_inlined(m, pc, calls) : 0;

	for (size_t k = 0; k < n && path && skip(path); k++) {
		path = calls[k].path;
		*line = calls[k].line;
	}
	return path;
}

/* ---- variables ---- */

/* The fixed address of a variable; clang has these in a table (.debug_addr). */
static bool address_of(Dwarf_Die *die, Dwarf_Addr *addr)
{
	Dwarf_Attribute a, in_table;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_location, &a) || dwarf_getlocation(&a, &op, &n) || n != 1)
		return false;
	*addr = op->number;
	if (op->atom == DW_OP_addrx)
		return !dwarf_getlocation_attr(&a, op, &in_table) && !dwarf_formaddr(&in_table, addr);
	return op->atom == DW_OP_addr;
}

static void add_var(struct code_file *m, Dwarf_Die *die, Dwarf_Addr bias)
{
	Dwarf_Attribute type;
	Dwarf_Die t;
	Dwarf_Addr addr;
	Dwarf_Word size;

	if (!address_of(die, &addr))
		return;
	if (!dwarf_attr_integrate(die, DW_AT_type, &type) || !dwarf_formref_die(&type, &t) ||
	    dwarf_aggregate_size(&t, &size))
		size = 1;
	m->vars = xreallocarray(m->vars, m->nvars + 1, sizeof(*m->vars));
	m->vars[m->nvars++] = (struct module_var){addr + bias, size, dwarf_dieoffset(die)};
}

/* Adds the variables of a unit or namespace, and the static variables of its functions. */
static void add_vars(struct code_file *m, Dwarf_Die *parent, Dwarf_Addr bias)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			add_var(m, &die, bias);
			break;
		case DW_TAG_namespace:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			add_vars(m, &die, bias);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

static int by_address(const void *a, const void *b)
{
	const struct module_var *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void read_vars(struct code_file *m)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	m->vars_read = true;
	while (m->mod && (unit = dwfl_module_nextcu(m->mod, unit, &bias)) != NULL)
		add_vars(m, unit, bias);
	if (m->nvars)
		qsort(m->vars, m->nvars, sizeof(*m->vars), by_address);
}

const struct module_var *module_var_at(struct code_file *m, uint64_t addr)
{
	size_t lo = 0, hi;

	if (!m->vars_read)
		read_vars(m);
	hi = m->nvars;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->vars[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo; lo--) {
		const struct module_var *v = &m->vars[lo - 1];

		if (addr < v->addr + v->len)
			return v;
		if (addr - v->addr > 1u << 20)
			break;
	}
	return NULL;
}
