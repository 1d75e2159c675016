/* SPDX-License-Identifier: MIT */
/* range.c: see range.h. */
#include "debug/range.h"

#include <string.h>

#include "debug/debug.h"
#include "insn/insn.h"
#include "timetravel/cursor_int.h"

#define BYTES_MAX 4096u
#define STEPS_FIRST 3 /* single steps at first: a line is often over by then */
#define STEPS_ASK 64 /* steps between two checks of whether the user wants to stop */

/* Decodes a jump with a target in the instruction itself. */
static bool jump_target(const uint8_t *code, unsigned len, uint64_t next, uint64_t *to)
{
	const uint8_t *p = code, *end = code + len;
	int32_t far;

	while (p < end && (*p == 0xf2 || *p == 0x2e || *p == 0x3e)) /* bnd, and hints */
		p++;
	if (end - p == 2 && (*p == 0xeb || (*p & 0xf0) == 0x70 || (*p & 0xfc) == 0xe0)) {
		*to = next + (uint64_t)(int64_t)(int8_t)p[1];
		return true;
	}
	if (!(end - p == 5 && *p == 0xe9) && !(end - p == 6 && *p == 0x0f && (p[1] & 0xf0) == 0x80))
		return false;
	memcpy(&far, end - 4, sizeof(far));
	*to = next + (uint64_t)(int64_t)far;
	return true;
}

static bool add(struct step_range *r, uint64_t at)
{
	for (unsigned i = 0; i < r->ways; i++)
		if (r->way[i] == at)
			return true;
	if (r->ways == RANGE_WAYS)
		return false;
	r->way[r->ways++] = at;
	return true;
}

/* Instructions of a range, a bit for each address. */
struct starts {
	uint8_t v[BYTES_MAX / 8];
};

static bool is_start(const struct starts *s, uint64_t off)
{
	return s->v[off / 8] >> off % 8 & 1;
}

/* Adds the ways out of one instruction. *target: an address in the range, at which an instruction must begin. */
static bool add_ways(struct step_range *r, const uint8_t *code, unsigned len, uint64_t pc, enum insn_kind kind,
		     uint64_t *target)
{
	uint64_t next = pc + len, to;

	*target = r->lo;
	if (kind == INSN_OTHER)
		return next < r->hi || add(r, next);
	if ((kind != INSN_JUMP && kind != INSN_BRANCH) || !jump_target(code, len, next, &to))
		return add(r, pc);
	if (to < r->lo || to >= r->hi) {
		if (!add(r, to))
			return false;
	} else {
		*target = to;
	}
	return kind == INSN_JUMP || next < r->hi || add(r, next);
}

static bool learn(struct step_range *r, const uint8_t *code, struct starts *s, uint64_t target[BYTES_MAX])
{
	uint64_t len = r->hi - r->lo, off = 0;

	while (off < len) {
		const struct insn i = {.code = code + off, .n = len - off};
		unsigned n = insn_len(&i);

		if (!n || n > len - off)
			return false;
		s->v[off / 8] |= (uint8_t)(1u << off % 8);
		if (!add_ways(r, code + off, n, r->lo + off, insn_kind(&i), &target[off]))
			return false;
		off += n;
	}
	return true;
}

bool range_learn(struct step_range *r, const uint8_t *code)
{
	static uint64_t target[BYTES_MAX];
	struct starts s = {0};

	r->ways = 0;
	if (r->hi - r->lo > BYTES_MAX || !learn(r, code, &s, target))
		return false;
	for (uint64_t off = 0; off < r->hi - r->lo; off++)
		if (is_start(&s, off) && !is_start(&s, target[off] - r->lo))
			return false;
	return true;
}

static bool learn_here(struct debug *d, struct step_range *r)
{
	uint8_t code[BYTES_MAX];
	struct err ignored;
	uint64_t len = r->hi - r->lo;

	return len <= BYTES_MAX && !trace_read(cursor_memory(&d->cursor), r->lo, code, len, &ignored) &&
	       range_learn(r, code);
}

static bool is_way(const struct step_range *r, uint64_t pc)
{
	for (unsigned i = 0; i < r->ways; i++)
		if (r->way[i] == pc)
			return true;
	return false;
}

/* Is the thread still in the range, without anything to report? 1, 0 or -1. */
static int is_within(struct debug *d, pid_t tid, const struct step_range *r, const struct stop *stop, uint64_t *pc,
		     struct err *e)
{
	struct cursor *t = &d->cursor;
	struct user_regs_struct regs;

	if (stop->kind != STOP_STEP || t->tid != cursor_now(t, tid))
		return 0;
	if (t->ops->regs(t, tid, &regs, e))
		return -1;
	*pc = regs.rip;
	return *pc >= r->lo && *pc < r->hi && !breaks_has(&t->breaks, *pc);
}

int range_over(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	d->over = *args != '\0';
	return 0;
}

#define INNER 29 /* the kind of the breakpoint at a call's return (visibility/breakpoints.h) */
#define CALL_MAX 7u /* bytes of a call */

/* Has the step from `before`, in the range, called a function that returns to the range? *ret: where to. */
static bool has_called(struct debug *d, pid_t tid, const struct step_range *r, const struct user_regs_struct *before,
		       uint64_t *ret)
{
	struct cursor *t = &d->cursor;
	struct user_regs_struct now;
	struct err ignored;

	return t->tid == cursor_now(t, tid) && !t->ops->regs(t, tid, &now, &ignored) &&
	       now.rsp + sizeof(*ret) == before->rsp && (now.rip < r->lo || now.rip >= r->hi) &&
	       !breaks_has(&t->breaks, now.rip) &&
	       !trace_read(cursor_memory(t), now.rsp, ret, sizeof(*ret), &ignored) && *ret > before->rip &&
	       *ret - before->rip <= CALL_MAX && *ret >= r->lo && *ret < r->hi && !breaks_has(&t->breaks, *ret);
}

/* Goes on to a return to ret, or to what stops it before. */
static int run_on(struct cursor *t, pid_t tid, uint64_t ret, struct stop *stop, struct err *e)
{
	int r = cursor_run_within(t, tid, &ret, 1, stop, e);

	if (r <= 0)
		return r;
	breaks_add(&t->breaks, ret, INNER);
	r = cursor_continue(t, stop, e);
	breaks_remove(&t->breaks, ret, INNER);
	return r;
}

/* Through a call, until it has returned to ret with the stack as it was, or something else stops it. */
static int go_through(struct cursor *t, pid_t tid, uint64_t ret, uint64_t sp, struct stop *stop, struct err *e)
{
	struct user_regs_struct regs;

	do {
		if (run_on(t, tid, ret, stop, e) || t->ops->regs(t, t->tid, &regs, e))
			return -1;
		if (t->interrupted && t->interrupted(t->ctx)) {
			stop->kind = STOP_INTERRUPT;
			return 0;
		}
		if (stop->kind == STOP_BREAK && regs.rip == ret)
			stop->kind = STOP_STEP; /* no other breakpoint is there */
		if (stop->kind != STOP_STEP && stop->kind != STOP_LIBRARY)
			return 0;
	} while (t->tid != cursor_now(t, tid) || regs.rip != ret || regs.rsp < sp);
	return 0;
}

static int step_over(struct debug *d, pid_t tid, const struct step_range *r, struct stop *stop, struct err *e)
{
	/* with conditions, the debugger may have to be told twice of a stop in a call */
	bool over = d->over && !d->watched.conditions.n;
	struct cursor *t = &d->cursor;
	struct user_regs_struct before = {0};
	uint64_t ret;

	if ((over && t->ops->regs(t, tid, &before, e)) || cursor_step(t, tid, stop, e))
		return -1;
	if (!over || stop->kind != STOP_STEP || !has_called(d, tid, r, &before, &ret))
		return 0;
	return go_through(t, tid, ret, before.rsp, stop, e);
}

int range_step(struct debug *d, pid_t tid, struct stop *stop, struct err *e)
{
	struct step_range *r = &d->range;
	struct cursor *t = &d->cursor;
	bool known = false;
	uint64_t pc = 0;
	int got;

	for (unsigned i = 0;; i++) {
		got = 1;
		if (i == STEPS_FIRST)
			known = learn_here(d, r);
		if (known && !is_way(r, pc))
			got = cursor_run_within(t, tid, r->way, r->ways, stop, e);
		if (got > 0)
			got = step_over(d, tid, r, stop, e);
		if (got)
			return -1;
		got = is_within(d, tid, r, stop, &pc, e);
		if (got <= 0)
			return got;
		if (i % STEPS_ASK == STEPS_ASK - 1 && t->interrupted && t->interrupted(t->ctx)) {
			*stop = (struct stop){.kind = STOP_INTERRUPT};
			return 0;
		}
	}
}
