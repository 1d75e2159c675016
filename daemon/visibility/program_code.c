/* SPDX-License-Identifier: MIT */
/* program_code.c: see program_code.h. Translated code is elsewhere, and only reads the program's code. */
#include "visibility/program_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/maps.h"
#include "rlog/replay.h"
#include "rlog/report.h"

#define PAGE 4096ull
#define INSN_MAX 15u

void program_code_fini(struct program_code *c)
{
	free(c->v);
	memset(c, 0, sizeof(*c));
}

/* 0 also if the kernel refuses; then *done is false. */
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

/* The kernel's ([vdso]) are called natively. */
static bool is_programs(const struct mapping *m)
{
	return m->exec && m->read && !shim_owns(m->lo) && !visibility_knows(m->path) && (m->path[0] != '[' || m->write);
}

/* Looks at the newest ranges first: an older one may be about an earlier mapping at this place. */
static const struct program_code_range *range_at(const struct program_code *c, uint64_t pc)
{
	for (size_t k = c->n; k; k--)
		if (pc >= c->v[k - 1].at.lo && pc < c->v[k - 1].at.hi)
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

static int list_of(const struct program_code *c, const struct trace *t, struct replay_report *r, struct err *e)
{
	return trace_read(t->pid, c->report, r, sizeof(*r), e);
}

/* Tells the recorder, which translates only these, and updates the list when mappings change. */
static int tell(const struct program_code *c, struct trace *t, struct text at, struct err *e)
{
	struct replay_report_code v = {at.lo, at.hi};
	struct replay_report r;

	if (list_of(c, t, &r, e))
		return -1;
	if (r.codes >= r.codes_max)
		return err_set(e, ERR_INTERNAL, "the copy %d has too much code", (int)t->pid);
	if (trace_write(t->pid, r.code_at + r.codes * sizeof(v), &v, sizeof(v), e))
		return -1;
	r.codes++;
	return trace_write(t->pid, c->report + offsetof(struct replay_report, codes), &r.codes, sizeof(r.codes), e);
}

int program_code_forbid(struct program_code *c, struct trace *t, uint64_t gadget, bool changes, struct err *e)
{
	for (size_t k = 0; k < c->n; k++) {
		struct program_code_range *r = &c->v[k];

		if (r->forbidden || r->changes != changes)
			continue;
		if (protect(t, gadget, r->at, r->prot & ~PROT_EXEC, &r->forbidden, e) ||
		    (r->forbidden && tell(c, t, r->at, e)))
			return -1;
		/* what is not mapped (yet) is not executed either */
		c->allowed |= !r->forbidden && is_executable(t->pid, r->at);
	}
	return 0;
}

/* Finds the forbidden range that contains pc: *at. false: there is none. */
static bool find_forbidden(const struct program_code *c, const struct trace *t, uint64_t pc, struct text *at)
{
	struct replay_report_code v[64];
	struct replay_report r;
	struct err ignored;

	if (!c->report || list_of(c, t, &r, &ignored))
		return false;
	for (uint64_t k = 0; k < r.codes && k < r.codes_max; k++) {
		uint64_t in = k % (sizeof(v) / sizeof(*v)), left = r.codes - k;

		if (!in && trace_read(t->pid, r.code_at + k * sizeof(*v), v,
				      left < sizeof(v) / sizeof(*v) ? left * sizeof(*v) : sizeof(v), &ignored))
			return false;
		if (pc < v[in].lo || pc >= v[in].hi)
			continue;
		*at = (struct text){v[in].lo, v[in].hi};
		return true;
	}
	return false;
}

bool program_code_is_forbidden(const struct program_code *c, const struct trace *t, uint64_t pc)
{
	struct text at;

	return find_forbidden(c, t, pc, &at);
}

int program_code_allow(struct program_code *c, struct trace *t, uint64_t gadget, uint64_t pc, bool allow, struct err *e)
{
	const struct program_code_range *r = range_at(c, pc);
	struct text at = {pc & ~(PAGE - 1), (pc + INSN_MAX + PAGE) & ~(PAGE - 1)}, all;
	int prot = r ? r->prot : PROT_READ | PROT_EXEC;
	bool done;

	if (!find_forbidden(c, t, pc, &all))
		return 0;
	at.hi = at.hi > all.hi ? all.hi : at.hi;
	if (protect(t, gadget, at, allow ? prot : prot & ~PROT_EXEC, &done, e))
		return -1;
	c->allowed |= !done && !allow && is_executable(t->pid, at);
	return 0;
}
