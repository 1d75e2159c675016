/* SPDX-License-Identifier: MIT */
/* program_code.c: see program_code.h. Translated code reads the program's code, but is not where that is. */
#include "visibility/program_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/maps.h"
#include "rlog/replay.h"

#define PAGE 4096ull
#define INSN_MAX 15u

void program_code_fini(struct program_code *c)
{
	free(c->v);
	memset(c, 0, sizeof(*c));
}

/* 0 also where the kernel does not do it, with *done false. */
static int protect(struct trace *t, uint64_t gadget, struct text at, int prot, bool *done, struct err *e)
{
	const uint64_t args[6] = {at.lo, at.hi - at.lo, (uint64_t)prot};
	int64_t ret;

	if (trace_syscall(t, gadget, SYS_mprotect, args, &ret, e))
		return -1;
	*done = ret == 0;
	return 0;
}

static bool is_executable(pid_t pid, struct text at)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return true;
	while (maps_next(&maps, &m))
		if (m.exec && m.lo < at.hi && m.hi > at.lo)
			return true;
	return false;
}

static bool is_recorders(const struct mapping *m)
{
	return m->lo >= SHIM_OWN_ADDR && m->lo < SHIM_HEAP_MAIN_ADDR;
}

/* The kernel's ([vdso]) are called natively. */
static bool is_programs(const struct mapping *m)
{
	return m->exec && m->read && !is_recorders(m) && !visibility_knows(m->path) && (m->path[0] != '[' || m->write);
}

/* What is not forbidden was not mapped when it was tried, or the kernel has refused. */
static const struct program_code_range *forbidden_at(const struct program_code *c, uint64_t pc)
{
	for (size_t k = c->n; k; k--)
		if (c->v[k - 1].forbidden && pc >= c->v[k - 1].at.lo && pc < c->v[k - 1].at.hi)
			return &c->v[k - 1];
	return NULL;
}

static void add(void *ctx, const struct mapping *m)
{
	struct program_code *c = ctx;
	size_t k = 0;

	if (!is_programs(m))
		return;
	while (k < c->n && (c->v[k].at.lo != m->lo || c->v[k].at.hi != m->hi))
		k++;
	if (k == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 16;
		c->v = xreallocarray(c->v, c->cap, sizeof(*c->v));
	}
	c->n += k == c->n;
	c->v[k] = (struct program_code_range){
		.at = {m->lo, m->hi},
		.prot = PROT_READ | PROT_EXEC | (m->write ? PROT_WRITE : 0),
		.changes = m->write || m->shared,
	};
}

int program_code_find(struct program_code *c, pid_t pid, struct visibility *s, struct err *e)
{
	return visibility_find_with(pid, s, add, c, e);
}

int program_code_forbid(struct program_code *c, struct trace *t, uint64_t gadget, bool changes, struct err *e)
{
	for (size_t k = 0; k < c->n; k++) {
		struct program_code_range *r = &c->v[k];

		if (r->forbidden || r->changes != changes)
			continue;
		if (protect(t, gadget, r->at, r->prot & ~PROT_EXEC, &r->forbidden, e))
			return -1;
		/* what is not mapped, or not yet, is not executed either */
		c->allowed |= !r->forbidden && is_executable(t->pid, r->at);
	}
	return 0;
}

/* Of a file that was mapped since it was found. */
static bool is_new(const struct trace *t, uint64_t pc, struct mapping *m)
{
	return maps_find(t->pid, pc, m) && m->path[0] == '/' && m->read && !m->write && !m->shared &&
	       !visibility_knows(m->path);
}

bool program_code_is_forbidden(const struct program_code *c, const struct trace *t, uint64_t pc)
{
	struct mapping m;

	return forbidden_at(c, pc) || (is_new(t, pc, &m) && !m.exec);
}

int program_code_allow(struct program_code *c, struct trace *t, uint64_t gadget, uint64_t pc, bool allow, struct err *e)
{
	const struct program_code_range *r = forbidden_at(c, pc);
	struct text at = {pc & ~(PAGE - 1), (pc + INSN_MAX + PAGE) & ~(PAGE - 1)};
	struct mapping m;
	int prot = PROT_READ | PROT_EXEC;
	bool done;

	if (!r && (!is_new(t, pc, &m) || m.exec == allow))
		return 0;
	prot = r ? r->prot : prot;
	at.hi = at.hi > (r ? r->at.hi : m.hi) ? (r ? r->at.hi : m.hi) : at.hi;
	if (protect(t, gadget, at, allow ? prot : prot & ~PROT_EXEC, &done, e))
		return -1;
	c->allowed |= !done && !allow && is_executable(t->pid, at);
	return 0;
}
