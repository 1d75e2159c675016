/* SPDX-License-Identifier: MIT */
/* code.c: what GDB knows about an address in the program's code. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/gdb.h"

/* Mode 5 of the command shows a source line with its instructions; without debug information, only instructions. */
static int line_by_disassembly(struct gdb *g, uint64_t pc, struct gdb_line *line, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int w = gdb_cmd(g, 0, &r, e, "-data-disassemble -s 0x%" PRIx64 " -e 0x%" PRIx64 " -- 5", pc, pc + 1);
	const struct mi_value *list, *v, *insns;

	if (w)
		return w < 0 ? -1 : 0;
	list = mi_get(r.result->results, "asm_insns");
	if (!list || !list->n)
		return 0;
	v = list->item[list->n - 1];
	insns = mi_get(v, "line_asm_insn");
	line->file = str_dup(mi_str(v, "file"));
	line->fullname = str_dup(mi_str(v, "fullname"));
	mi_int(v, "line", &line->line);
	if (insns && insns->n)
		v = insns->item[0];
	line->func = str_dup(mi_str(v, "func-name"));
	return 0;
}

/* C++ names come with their parameters, but frames show only the name. */
static void cut_parameters(char *func)
{
	static const char call[] = "operator";
	const size_t len = sizeof(call) - 1;
	char *p = func ? strrchr(func, ')') : NULL;
	int deep = 1;

	/* "f(int) const", but not "(anonymous namespace)::f" or "f<int ()>" */
	if (!p || (p[1] && p[1] != ' ' && p[1] != '['))
		return;
	while (deep && p > func)
		deep += *--p == ')' ? 1 : *p == '(' ? -1 : 0;
	if (!deep && p != func && ((size_t)(p - func) < len || memcmp(p - len, call, len) != 0))
		*p = '\0';
}

/*
 * The name of the innermost function, inlined ones included, and the names of those around it. No MI command has this
 * for an address where no thread stands. A GDB without Python keeps the containing function's name.
 */
static int inlined_function(struct gdb *g, uint64_t pc, struct gdb_line *line, struct err *e)
{
	cleanup_free char *cmd = NULL, *out = NULL;
	cleanup_strv struct strv names = {0};
	int w;

	cmd = str_fmt("python exec(\"b = gdb.block_for_pc(%" PRIu64 ")\\nwhile b and not b.is_static:\\n"
		      " if b.function: print(b.function.print_name)\\n b = b.superblock\")",
		      pc);
	w = gdb_console_at(g, 0, -1, 0, cmd, &out, e);
	if (w)
		return gdb_dead(g) ? -1 : 0;
	strv_split(&names, out, "\n");
	for (size_t i = 0; i < names.n; i++) {
		cut_parameters(names.s[i]);
		if (i)
			strv_add(&line->around, names.s[i]);
		else
			str_set(&line->func, "%s", names.s[i]);
	}
	return 0;
}

int gdb_line_at(struct gdb *g, uint64_t pc, struct gdb_line *line, struct err *e)
{
	int w;

	*line = (struct gdb_line){0};
	w = line_by_disassembly(g, pc, line, e);
	cut_parameters(line->func);
	if (w || (line->file && inlined_function(g, pc, line, e))) {
		gdb_line_fini(line);
		return err_wrap(e, "source line of 0x%" PRIx64, pc);
	}
	return 0;
}

void gdb_line_fini(struct gdb_line *line)
{
	free(line->func);
	free(line->file);
	free(line->fullname);
	strv_fini(&line->around);
	*line = (struct gdb_line){0};
}

#define INSN_MAX 15u /* bytes */

/* A function's code may be in several pieces, in any order. */
int gdb_prev_insn(struct gdb *g, uint64_t pc, uint64_t *prev, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	/* -a: the whole function around the address, so that decoding begins at an instruction */
	int w = gdb_cmd(g, 0, &r, e, "-data-disassemble -a 0x%" PRIx64 " -- 0", pc);
	const struct mi_value *list;
	uint64_t addr, last = 0;

	if (w)
		return w;
	list = mi_get(r.result->results, "asm_insns");
	for (size_t i = 0; list && i < list->n; i++) {
		if (mi_u64(list->item[i], "address", &addr))
			return 1;
		if (addr == pc) {
			*prev = last;
			return last && last < pc && pc - last <= INSN_MAX ? 0 : 1;
		}
		last = addr;
	}
	return 1;
}
