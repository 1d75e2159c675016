/* SPDX-License-Identifier: MIT */
/* returning.c: see returning.h. */
#include "executed/returning.h"

#include <stdlib.h>

#include "base/str.h"
#include "insn/insn.h"

#define INSNS_MAX 2000000u /* instructions that are examined, of all functions */
#define DEPTH_MAX 64u /* of calls */

const char *const returning_never[] = {
	"exit",
	"_exit",
	"_Exit",
	"quick_exit",
	"abort",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__stack_chk_fail",
	"__chk_fail",
	"__fortify_fail",
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp_chk",
	"err",
	"errx",
	"verr",
	"verrx",
	"pthread_exit",
	"thrd_exit",
	"__cxa_throw",
	"__cxa_rethrow",
	"__cxa_bad_cast",
	"__cxa_throw_bad_array_new_length",
	"_Unwind_Resume",
	"_ZSt9terminatev",
	"_ZSt17__throw_bad_allocv",
	"_ZSt19__throw_logic_errorPKc",
	"_ZSt20__throw_length_errorPKc",
	"_ZSt20__throw_out_of_rangePKc",
	"_ZSt24__throw_out_of_range_fmtPKcz",
};
const size_t returning_nnever = sizeof(returning_never) / sizeof(returning_never[0]);

enum answer { UNKNOWN = 0, RETURNS, NEVER };

struct function {
	uint64_t pc;
	enum answer answer;
};

struct visited {
	uint64_t pc;
	uint32_t by;
};

/* Instructions that are still to be looked at. */
struct work {
	uint64_t *v;
	size_t n, cap;
};

void returning_init(struct returning *r, const struct returning_ops *ops, void *ctx)
{
	*r = (struct returning){.ops = ops, .ctx = ctx, .left = INSNS_MAX};
	table_init(&r->functions, sizeof(struct function));
	table_init(&r->insns, sizeof(struct visited));
}

void returning_fini(struct returning *r)
{
	table_fini(&r->functions);
	table_fini(&r->insns);
}

static void add(struct returning *r, struct work *w, uint64_t pc, uint32_t by)
{
	struct visited *v = table_add(&r->insns, pc);

	if (v->by == by)
		return;
	v->by = by;
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->v = xreallocarray(w->v, w->cap, sizeof(*w->v));
	}
	w->v[w->n++] = pc;
}

static bool does(struct returning *r, uint64_t pc, unsigned depth);

static bool goes_on_after(struct returning *r, const struct insn_next *call, unsigned depth)
{
	if (call->slot)
		return !r->ops->never(r->ctx, call->slot);
	return !call->target || does(r, call->target, depth + 1);
}

/* Examines one instruction: adds what may follow. true: the function returns there, or that is not known. */
static bool look(struct returning *r, struct work *w, uint64_t pc, uint32_t by, unsigned depth)
{
	uint8_t code[INSN_BYTES];
	struct insn_next x = insn_next(code, r->ops->read(r->ctx, pc, code, sizeof(code)), pc);

	switch (x.kind) {
	case NEXT_RETURN:
		return true;
	case NEXT_NOWHERE:
		return !x.len;
	case NEXT_ANYWHERE:
		return !x.slot || !r->ops->never(r->ctx, x.slot);
	case NEXT_BRANCH:
		add(r, w, x.target, by);
		break;
	case NEXT_JUMP:
		add(r, w, x.target, by);
		return false;
	case NEXT_CALL:
		if (!goes_on_after(r, &x, depth))
			return false;
		break;
	case NEXT_FOLLOWS:
		break;
	}
	add(r, w, pc + x.len, by);
	return false;
}

/* A function that is being examined already, further out, is taken to return. */
static bool does(struct returning *r, uint64_t pc, unsigned depth)
{
	struct function *f = table_add(&r->functions, pc);
	struct work w = {0};
	uint32_t by;
	bool found = false;

	if (f->answer != UNKNOWN)
		return f->answer == RETURNS;
	f->answer = RETURNS;
	if (depth > DEPTH_MAX)
		return true;
	by = ++r->number;
	add(r, &w, pc, by);
	while (w.n && !found) {
		uint64_t next = w.v[--w.n];

		found = !r->left || look(r, &w, next, by, depth);
		r->left -= r->left != 0;
	}
	free(w.v);
	if (!found)
		((struct function *)table_find(&r->functions, pc))->answer = NEVER;
	return found;
}

bool returning_after(struct returning *r, const struct insn_next *call)
{
	return goes_on_after(r, call, 0);
}
