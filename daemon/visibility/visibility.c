/* SPDX-License-Identifier: MIT */
/* visibility.c: see visibility.h. */
#include "visibility/visibility.h"

#include <string.h>

#include "base/maps.h"
#include "rlog/rlog.h"
#include "visibility/signal_handlers.h"

#define RET 0xc3

/* The text that is filled from this file; NULL: none. */
static struct text *which(struct visibility *s, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name)
		return NULL;
	name++;
	if (strstr(path, RLOG_SHIM_NAME))
		return &s->shim;
	if (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7))
		return &s->libc;
	if (!strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5))
		return &s->loader;
	return NULL;
}

bool visibility_knows(const char *path)
{
	struct visibility s;

	return which(&s, path) != NULL;
}

int visibility_find_with(pid_t pid, struct visibility *s, void (*each)(void *ctx, const struct mapping *m), void *ctx,
			 struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	memset(s, 0, sizeof(*s));
	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		struct text *t = m.exec ? which(s, m.path) : NULL;

		if (t)
			*t = (struct text){m.lo, m.hi};
		if (each)
			each(ctx, &m);
	}
	s->handlers = handlers_find(pid, &s->shim);
	if (s->shim.lo)
		return 0;
	return err_set(e, ERR_INTERNAL, "process %d: no " RLOG_SHIM_NAME " is mapped", (int)pid);
}

int visibility_find(pid_t pid, struct visibility *s, struct err *e)
{
	return visibility_find_with(pid, s, NULL, NULL, e);
}

static bool in(const struct text *t, uint64_t pc)
{
	return pc >= t->lo && pc < t->hi;
}

static bool in_libc(const struct visibility *s, uint64_t pc)
{
	return in(&s->libc, pc) || in(&s->loader, pc);
}

bool visibility_is_shim(const struct visibility *s, uint64_t pc)
{
	return in(&s->shim, pc);
}

bool visibility_is_certain(const struct visibility *s, uint64_t pc)
{
	return !in(&s->shim, pc) && !in_libc(s, pc);
}

bool visibility_is_call_of_handler(const struct visibility *s, uint64_t pc)
{
	return s->handlers && pc == s->handlers;
}

bool visibility_has_returned(pid_t pid, const struct user_regs_struct *r)
{
	struct err ignored;
	uint64_t popped;

	return !trace_read(pid, r->rsp - sizeof(popped), &popped, sizeof(popped), &ignored) && popped == r->rip;
}

bool visibility_is_called_from(const struct visibility *s, pid_t pid, const struct user_regs_struct *r,
			       const struct user_regs_struct *caller)
{
	struct err ignored;
	uint64_t to;

	return in(&s->shim, r->rip) && r->rsp + sizeof(to) == caller->rsp &&
	       !trace_read(pid, r->rsp, &to, sizeof(to), &ignored) && to == caller->rip;
}

bool visibility_is_loader(const struct visibility *s, uint64_t pc)
{
	return in(&s->loader, pc);
}

static bool is_return(pid_t pid, uint64_t pc)
{
	struct err ignored;
	uint8_t op[2];

	if (trace_read(pid, pc, op, sizeof(op), &ignored))
		return false;
	if (op[0] == 0xf2 || op[0] == 0xf3) /* bnd, rep */
		op[0] = op[1];
	return op[0] == 0xc3 || op[0] == 0xc2;
}

/* Would a `ret` here return into the shim? */
static bool returns_to_shim(const struct visibility *s, pid_t pid, uint64_t rsp)
{
	struct err ignored;
	uint64_t to;

	return !trace_read(pid, rsp, &to, sizeof(to), &ignored) && in(&s->shim, to);
}

bool visibility_is_ret(pid_t pid, uint64_t pc)
{
	struct err ignored;
	uint8_t op;

	return !trace_read(pid, pc, &op, 1, &ignored) && op == RET;
}

/* The `ret` there may be under a breakpoint; but the shim's, to which it returns, is not. */
bool visibility_is_trampoline(const struct visibility *s, pid_t pid, const struct user_regs_struct *r)
{
	struct err ignored;
	uint64_t to;

	return visibility_is_certain(s, r->rip) && visibility_has_returned(pid, r) &&
	       !trace_read(pid, r->rsp, &to, sizeof(to), &ignored) && in(&s->shim, to) && visibility_is_ret(pid, to);
}

bool visibility_is_program(const struct visibility *s, pid_t pid, const struct user_regs_struct *r)
{
	return visibility_is_certain(s, r->rip) && !visibility_is_trampoline(s, pid, r);
}

/*
 * At the entry of a function of libc: the stack slot with the return address into the shim. 0: the shim has not called
 * it.
 */
static uint64_t return_slot(const struct visibility *s, pid_t pid, uint64_t rsp)
{
	struct user_regs_struct to = {.rsp = rsp + sizeof(to.rip)};
	struct err ignored;

	if (returns_to_shim(s, pid, rsp))
		return rsp;
	if (trace_read(pid, rsp, &to.rip, sizeof(to.rip), &ignored) || !visibility_is_trampoline(s, pid, &to))
		return 0;
	return to.rsp;
}

bool visibility_sees(const struct visibility *s, struct shim_call *g, pid_t pid, uint64_t before,
		     const struct user_regs_struct *now, bool handler)
{
	bool from_shim = in(&s->shim, before), to_shim = in(&s->shim, now->rip);

	if (visibility_is_call_of_handler(s, now->rip))
		return true;
	if (g->hidden) {
		if (to_shim && now->rsp == g->hidden + 8)
			g->hidden = 0;
		return !to_shim && !in_libc(s, now->rip) && !visibility_is_trampoline(s, pid, now);
	}
	if (to_shim)
		return !from_shim && !handler && !is_return(pid, before);
	if (from_shim && in_libc(s, now->rip) && !is_return(pid, before))
		g->hidden = return_slot(s, pid, now->rsp);
	return !g->hidden;
}
