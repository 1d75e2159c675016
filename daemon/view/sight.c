/* SPDX-License-Identifier: MIT */
/* sight.c: see sight.h. */
#include "view/sight.h"

#include <string.h>

#include "base/maps.h"
#include "rlog/rlog.h"

/* Which text is of this file; NULL: none of these. */
static struct text *which(struct sight *s, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name++)
		return NULL;
	if (strstr(path, RLOG_SHIM_NAME))
		return &s->shim;
	if (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7))
		return &s->libc;
	if (!strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5))
		return &s->loader;
	return NULL;
}

bool sight_knows(const char *path)
{
	struct sight s;

	return which(&s, path) != NULL;
}

int sight_find(pid_t pid, struct sight *s, struct err *e)
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
	}
	if (s->shim.lo)
		return 0;
	return err_set(e, ERR_INTERNAL, "process %d: no " RLOG_SHIM_NAME " is mapped", (int)pid);
}

static bool in(const struct text *t, uint64_t pc)
{
	return pc >= t->lo && pc < t->hi;
}

static bool in_libc(const struct sight *s, uint64_t pc)
{
	return in(&s->libc, pc) || in(&s->loader, pc);
}

bool sight_is_certain(const struct sight *s, uint64_t pc)
{
	return !in(&s->shim, pc) && !in_libc(s, pc);
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

/* Would a `ret` here go back into the shim? */
static bool returns_to_shim(const struct sight *s, pid_t pid, uint64_t rsp)
{
	struct err ignored;
	uint64_t to;

	return !trace_read(pid, rsp, &to, sizeof(to), &ignored) && in(&s->shim, to);
}

bool sight_sees(const struct sight *s, struct gaze *g, pid_t pid, uint64_t before,
		const struct user_regs_struct *now, bool handler)
{
	bool from_shim = in(&s->shim, before), to_shim = in(&s->shim, now->rip);

	if (g->hidden) {
		if (to_shim && now->rsp == g->hidden + 8)
			g->hidden = 0;
		return !to_shim && !in_libc(s, now->rip);
	}
	if (to_shim)
		return !from_shim && !handler && !is_return(pid, before);
	if (from_shim && in_libc(s, now->rip) && !is_return(pid, before) && returns_to_shim(s, pid, now->rsp)) {
		g->hidden = now->rsp;
		return false;
	}
	return true;
}
