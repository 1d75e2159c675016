/* SPDX-License-Identifier: MIT */
/* aborted.c: programs that ended by abort: failed assertions, checks of the heap, and abort itself. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

/* ---- assertions ---- */

static const char *const asserting[] = {"__assert_fail", "__assert", NULL};

static int explain_assertion(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	cleanup_free char *expr = NULL;
	struct timeline_point at;
	struct inspect p = {.x = x};
	int level, got;

	got = failure_to_entry(x, asserting, e);
	if (got)
		return got;
	if (failure_is_here(x, e) || explain_regs(x, x->tid, &r, e))
		return -1;
	expr = failure_text(x, r.rdi);
	failure_set_kind(x, "assertion", "the assertion `%s' failed", expr ? expr : "?");
	if (expr)
		str_set(&x->failure.expression, "%s", expr);
	got = failure_tell(x, &p, e);
	level = got ? -1 : failure_with_source(&p, 1);
	if (got || !expr || level < 0) {
		inspect_close(&p);
		explain_end(x, END_UNKNOWN, "the assertion's text, or its frame, is not known");
		return got;
	}
	at = p.at;
	got = because_of_count(x, &p, level, expr, e);
	if (got <= 0)
		return got;
	got = condition_search(x, &p, level, expr, CONDITION_OF_ALL, e);
	if (got <= 0 || !at.pc)
		return got < 0 ? -1 : 0;
	/* the compiler has left nothing of its variables, or one only begins here */
	if (cursor_goto_point(&x->t, &at, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	return because_of_line(x, &p, level, got == CONDITION_BEGINS, e) < 0 ? -1 : 0;
}

/* ---- the heap ---- */

static const char *const releasing[] = {"free", "realloc", "reallocarray", "cfree", NULL};

#define POINTER_WORK 15000u /* to look for where the pointer came from */

/*
 * The program stands at the second free of a block. Was the pointer read from memory that had been freed? Then that is
 * the mistake, and the chain leads there. 0: yes; 1: no, and the program stands there again; -1.
 */
static int by_stale_pointer(struct explain *x, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 8};
	uint64_t until = explain_limit(x, POINTER_WORK);
	size_t before = x->chain.n;
	int r;

	r = flow_follow(x, x->tid, &l, true, e);
	x->until = until;
	if (r)
		return -1;
	if (x->end == END_FREED) {
		x->found = true;
		return 0;
	}
	explain_cut(x, before);
	explain_reopen(x);
	return explain_goto_failure(x, e) ? -1 : 1;
}

/*
 * The program stands at the first free of the block, whose calls are in `first`. Which of the calls that last at the
 * failure lasted then already? The cfa of the others becomes 0: the same function was called again. The cursor may
 * stand anywhere afterwards.
 */
static int keep_lasting(struct explain *x, const struct flow_stack *first, uint64_t header, struct flow_stack *second,
			struct err *e)
{
	bool lasts = false;

	for (unsigned k = 0; k < second->n && !lasts; k++) {
		struct flow_call *c = &second->calls[k];
		int got = 1;

		if (c->inlined)
			continue;
		if (flow_has_call(first, c)) {
			if (explain_goto_failure(x, e))
				return -1;
			got = flow_last_write(x, c->cfa - 8, 8, header, &lasts, e);
		}
		if (got < 0)
			return -1;
		explain_reopen(x);
		lasts &= !got;
		if (!lasts)
			c->cfa = 0;
	}
	return 0;
}

/*
 * Adds the step for the first free of the block, at which p stands, or for the statement that caused it. *end: how the
 * chain ends there. 0, or -1.
 */
static int tell_blame(struct inspect *p, const struct object *o, const struct flow_stack *second, const char **end,
		      struct err *e)
{
	int got = flow_tell_count(p, o, 0, e);

	if (got > 0)
		*end = "the call dropped more references than it had taken, and the block was freed twice";
	if (got)
		return got < 0 ? -1 : 0;
	got = flow_tell_giver(p, o->lo, true, second, e);
	if (got > 0)
		*end = "the block was freed by what is called here, and once more at the failure";
	return got < 0 ? -1 : 0;
}

/* The program stands at the first free of the block, which was freed again in `second`. */
static int tell_first_free(struct explain *x, const struct object *o, struct flow_stack *second, struct err *e)
{
	struct flow_stack first;
	struct timeline_point at;
	struct inspect p = {0};
	const char *end = "the block was freed here, and once more at the failure";
	int got = inspect_open(&p, x, e);

	if (!got) {
		inspect_step(&p, STEP_FREE, o->name, NULL, NULL, "%s was freed here for the first time", o->name);
		flow_calls(&p, &first);
		at = p.at;
	}
	inspect_close(&p);
	if (!got)
		got = keep_lasting(x, &first, o->header, second, e);
	if (!got)
		got = cursor_goto_point(&x->t, &at, e);
	if (!got)
		got = inspect_open(&p, x, e);
	if (!got)
		got = tell_blame(&p, o, second, &end, e);
	inspect_close(&p);
	explain_end(x, END_FREED, "%s", end);
	x->found = true;
	return got;
}

/* The program stands at the call of free or realloc that was refused. */
static int explain_release(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	struct object o = {0};
	struct flow_stack second;
	bool freed, is_birth;
	struct inspect p = {0};
	int got;

	if (failure_is_here(x, e) || explain_regs(x, x->tid, &r, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	flow_calls(&p, &second);
	freed = inspect_object(&p, r.rdi, &o) && o.heap && o.freed && o.lo == r.rdi;
	if (o.heap && !o.freed && o.lo == r.rdi)
		failure_set_kind(x, "heap", "%s of the block at 0x%llx found the heap damaged", inspect_function(&p, 0),
				 (unsigned long long)r.rdi);
	else if (freed)
		failure_set_kind(x, "double-free", "%s was called for the block at 0x%llx, which is free already",
				 inspect_function(&p, 0), (unsigned long long)r.rdi);
	else
		failure_set_kind(x, "heap", "%s was called for 0x%llx, which is no block of the heap",
				 inspect_function(&p, 0), (unsigned long long)r.rdi);
	inspect_step(&p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	inspect_close(&p);
	if (!freed) {
		struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 8};

		/* in the middle of a block: the statement that added to the pointer made it another one */
		if (o.heap && o.lo != r.rdi)
			return flow_follow(x, x->tid, &l, false, e);
		got = r.rdi % 16 ? 1 : failure_broken_heap(x, r.rdi, e);
		if (got <= 0)
			return got;
		return flow_follow(x, x->tid, &l, false, e);
	}
	got = by_stale_pointer(x, e);
	if (got <= 0)
		return got;
	got = flow_last_write(x, o.header, 8, 0, &is_birth, e);
	return got ? (got < 0 ? -1 : 0) : tell_first_free(x, &o, &second, e);
}

/* ---- abort ---- */

static const char *const terminating[] = {"std::terminate",	     "__gnu_cxx::__verbose_terminate_handler",
					  "__cxxabiv1::__terminate", "__cxa_pure_virtual",
					  "__cxa_bad_cast",	     "__gxx_personality_v0",
					  "_Unwind_RaiseException",  NULL};
/* A frame of these, and abort above it: libc's own allocator found something. */
static const char *const checking[] = {"malloc_printerr", "free",  "malloc",	  "calloc",
				       "realloc",	  "cfree", "__libc_free", NULL};
static const char *const smashed[] = {"__stack_chk_fail", NULL};
static const char *const aborting[] = {"abort", NULL};
static const char *const freeing[] = {"free", "cfree", "realloc", NULL};

/*
 * The program stands at a call of the recorder's in which it was aborted: malloc found the heap damaged there, perhaps
 * when a function of libc called it. 1: it did not, and the program stands there still.
 */
static int explain_allocation(struct explain *x, struct err *e)
{
	uint32_t thread = cursor_ordinal(&x->t, x->tid);
	uint64_t arena = thread > 1 ? SHIM_HEAP_ADDR + ((uint64_t)thread << 32) : SHIM_HEAP_MAIN_ADDR;
	struct inspect p = {0};
	int got = inspect_open(&p, x, e);

	if (!got) {
		failure_set_kind(x, "heap", "%s found the heap damaged", inspect_function(&p, 0));
		inspect_step(&p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	}
	inspect_close(&p);
	if (!got)
		got = failure_broken_heap(x, arena, e);
	if (got > 0)
		explain_cut(x, 0);
	return got;
}

static int plain_abort(struct explain *x, struct err *e)
{
	struct inspect p = {0};
	int got = failure_to_entry(x, aborting, e);

	if (got < 0 || failure_is_here(x, e))
		return -1;
	failure_set_kind(x, "abort", "the program aborted");
	if (failure_tell(x, &p, e)) {
		inspect_close(&p);
		return -1;
	}
	x->found = true;
	if (because_of_condition(x, &p, failure_with_source(&p, 0), true, CONDITION_OF_ALL, e) < 0)
		return -1;
	explain_end(x, END_DECIDED, "the program called abort here");
	return 0;
}

int failure_abort(struct explain *x, struct err *e)
{
	bool asserts, terminates, checks, smashes, allocates;
	struct user_regs_struct r;
	bool shim;
	struct inspect p = {0};

	if (failure_to_shim_call(x, e) || explain_regs(x, x->tid, &r, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	asserts = inspect_find(&p, asserting) >= 0;
	terminates = inspect_find(&p, terminating) >= 0;
	checks = inspect_find(&p, checking) >= 0;
	smashes = inspect_find(&p, smashed) >= 0;
	shim = visibility_is_shim(&x->t.visibility, r.rip) && inspect_find(&p, releasing) == 0;
	allocates = visibility_is_shim(&x->t.visibility, r.rip) && inspect_find(&p, aborting) != 0;
	inspect_close(&p);
	if (asserts)
		return explain_assertion(x, e);
	if (terminates)
		return failure_exception(x, e);
	if (shim && r.rdi) /* realloc of NULL allocates */
		return explain_release(x, e);
	if (smashes)
		return failure_smashed(x, e);
	if (allocates) {
		int got = explain_allocation(x, e);

		if (got <= 0)
			return got;
	}
	if (checks) {
		int got = failure_to_entry(x, freeing, e);

		if (got < 0)
			return -1;
		if (!got)
			return explain_release(x, e);
		failure_set_kind(x, "heap", "a check of the C library failed");
		if (failure_tell(x, &p, e)) {
			inspect_close(&p);
			return -1;
		}
		inspect_close(&p);
		explain_end(x, END_UNKNOWN, "what was overwritten is not followed");
		return 0;
	}
	return plain_abort(x, e);
}
