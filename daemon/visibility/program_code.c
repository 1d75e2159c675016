/* SPDX-License-Identifier: MIT */
/* program_code.c: see program_code.h. Translated code reads the program's code, but is not in its files. */
#include "visibility/program_code.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/maps.h"
#include "visibility/visibility.h"

#define PAGE 4096ull
#define INSN_MAX 15u

static int protect(struct trace *t, uint64_t gadget, uint64_t lo, uint64_t hi, int prot, struct err *e)
{
	const uint64_t args[6] = {lo, hi - lo, (uint64_t)prot};
	int64_t ignored;

	return trace_syscall(t, gadget, SYS_mprotect, args, &ignored, e);
}

/* Code that the program writes itself, in memory of a file too, is left alone. */
static bool is_programs(const struct mapping *m)
{
	return m->path[0] == '/' && m->read && !m->write && !m->shared && !visibility_knows(m->path);
}

int program_code_forbid(struct trace *t, uint64_t gadget, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, t->pid, e))
		return -1;
	while (maps_next(&maps, &m))
		if (m.exec && is_programs(&m) && protect(t, gadget, m.lo, m.hi, PROT_READ, e))
			return -1;
	return 0;
}

bool program_code_is_forbidden(const struct trace *t, uint64_t pc)
{
	struct mapping m;

	return maps_find(t->pid, pc, &m) && !m.exec && is_programs(&m);
}

int program_code_allow(struct trace *t, uint64_t gadget, uint64_t pc, bool allow, struct err *e)
{
	uint64_t lo = pc & ~(PAGE - 1), hi = (pc + INSN_MAX + PAGE) & ~(PAGE - 1);
	struct mapping m;

	if (!maps_find(t->pid, pc, &m) || m.exec == allow || !is_programs(&m))
		return 0;
	return protect(t, gadget, lo, hi < m.hi ? hi : m.hi, PROT_READ | (allow ? PROT_EXEC : 0), e);
}
