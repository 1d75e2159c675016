/* SPDX-License-Identifier: MIT */
/*
 * segcursor_marks.c: marks near a goal whose PC is passed very often, at arrivals that a walk has counted: see
 * segcursor_walk.c.
 */
#include "segcursor/segcursor_int.h"

#define STACK_WORDS 256 /* how much of the stack is searched for the caller of libc */

/* Sets marks at some of the last of these arrivals (`times`) at a point of `at`, counted from the last mark. */
static int leave_marks(struct segcur *in, const struct breaks *at, uint64_t times, struct err *e)
{
	static const uint64_t before[] = {4096, 64, 1};
	uint64_t was = 1;
	int r = 0;

	for (unsigned i = 0; !r && i < sizeof(before) / sizeof(before[0]); i++) {
		uint64_t to = times > before[i] ? times - before[i] : 0;
		struct trace t;

		if (!to)
			continue;
		/* if it stands at the point, this counts: then it is the was-th time */
		r = segcur_walk_to_nth(in, &in->mark[in->marks - 1], at, to - was + 1, &t, e);
		if (r)
			break;
		segcur_push_mark(in, &t, 0);
		was = to;
	}
	return r;
}

static bool is_after_call(pid_t pid, uint64_t pc)
{
	uint8_t op[6]; /* the bytes before pc */
	struct err ignored;

	return !trace_read(pid, pc - sizeof(op), op, sizeof(op), &ignored) &&
	       (op[1] == 0xe8 || (op[0] == 0xff && op[1] == 0x15) || (op[4] == 0xff && (op[5] & 0x38) == 0x10));
}

/*
 * The state is in libc: the address in the program to which the function of libc returns, or a value on the stack that
 * looks like one. 0: none.
 */
static uint64_t find_caller(const struct segcur *in, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	uint64_t word[STACK_WORDS];

	if (trace_get_regs(t, &r, e) || trace_read(t->pid, r.rsp, word, sizeof(word), e))
		return 0;
	for (unsigned i = 0; i < STACK_WORDS; i++)
		if (segcur_is_visible_code(in, word[i]) && is_after_call(t->pid, word[i]))
			return word[i];
	return 0;
}

/*
 * For a goal in libc. Since the shim calls libc, too, marks are set at arrivals at the program's caller, which are
 * visible states.
 */
static int marks_of_caller(struct segcur *in, struct goal *g, struct err *e)
{
	struct breaks at = {0};
	struct err ignored;
	struct walked w;
	uint64_t caller = find_caller(in, g->want, &ignored);
	int r;

	if (!caller)
		return 1;
	breaks_add(&at, caller, 0);
	r = segcur_walk_to_goal(in, &in->mark[in->marks - 1], g, &at, &w, e);
	if (!r) {
		segcur_drop(&w.t);
		r = leave_marks(in, &at, w.stops, e);
	}
	breaks_fini(&at);
	return r;
}

int segcur_walk_marks(struct segcur *in, struct goal *g, struct err *e)
{
	uint64_t times;
	struct walked w;
	int r;

	if (!g->want)
		return 1;
	if (!segcur_is_visible_code(in, g->pc))
		return marks_of_caller(in, g, e);
	if (in->marks == 1) {
		r = segcur_walk_times(in, g, &times, e);
	} else {
		r = segcur_walk_to_goal(in, &in->mark[in->marks - 1], g, NULL, &w, e);
		times = w.times;
		if (!r)
			segcur_drop(&w.t);
	}
	return r ? r : leave_marks(in, &g->stop, times, e);
}
