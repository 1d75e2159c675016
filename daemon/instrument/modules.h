/* SPDX-License-Identifier: MIT */
/* modules.h: the files with code that a process has mapped, and their debug information (libdw). */
#ifndef FRED_INSTRUMENT_MODULES_H
#define FRED_INSTRUMENT_MODULES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* Who wrote the code: the C and C++ libraries synchronise what they do for the program by themselves. */
enum module_kind { MODULE_PROGRAM, MODULE_RUNTIME, MODULE_LOADER, MODULE_RECORDER };

/* A variable with an address of its own. */
struct module_var {
	uint64_t addr, len;
	Dwarf_Off die;
};

struct code_file {
	uint64_t lo, hi; /* all of the file's mappings */
	char *path;
	enum module_kind kind;
	bool system; /* a library of the distribution's */
	Dwfl *dwfl; /* NULL: it cannot be read */
	Dwfl_Module *mod;
	Dwarf_Die *unit; /* the unit that contained the last address */
	Dwarf_Addr bias;
	struct strv absolute; /* absolute names of source files whose names in the debug information are relative */
	struct module_var *vars; /* by address */
	size_t nvars;
	bool vars_read;
};

struct code_files {
	struct code_file **v;
	size_t n, cap;
	pid_t pid;
	const char *root; /* borrowed: is put before all paths; NULL: nothing is */
};

void modules_init(struct code_files *m);
void modules_fini(struct code_files *m);
/* Code has gone: files that are no longer mapped are not found any more; what was found before stays valid. */
void modules_forget(struct code_files *m, pid_t pid);
/* The file whose code, or data, is at addr; NULL: none. The process is the one that was given last. */
struct code_file *modules_at(struct code_files *m, pid_t pid, uint64_t addr);

/* The source line of the instruction at pc, as compiled, and its number; NULL: not known. Valid as long as m. */
const char *module_line(struct code_file *m, uint64_t pc, int *line);
#define MODULE_INLINED 16
/* A call into whose place the compiler has put the called function. */
struct module_call {
	const char *path; /* the source line as above; NULL: not known */
	int line;
};
/*
 * The calls of this kind that the code at pc is in, the innermost first: puts up to MODULE_INLINED into v, and returns
 * how many.
 */
size_t module_inlined(struct code_file *m, uint64_t pc, struct module_call *v);
/*
 * The innermost of the lines of pc and such calls in whose file skip() is false, else the outermost; NULL: not known.
 */
const char *module_line_outside(struct code_file *m, uint64_t pc, bool (*skip)(const char *path), int *line);
/* The compile unit at pc; NULL: not known. *bias: the difference between addresses in memory and in the unit. */
Dwarf_Die *module_unit(struct code_file *m, uint64_t pc, Dwarf_Addr *bias);
/* The variable at addr; NULL: none is known. */
const struct module_var *module_var_at(struct code_file *m, uint64_t addr);

#endif
