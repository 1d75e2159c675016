/* SPDX-License-Identifier: MIT */
/* aborted.c: programs that ended by abort: failed assertions, checks of the heap, exceptions, and abort itself. */
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

static char *string_at(struct explain *x, uint64_t addr)
{
	char s[512];
	struct err ignored;
	size_t n = 0;

	while (n + 1 < sizeof(s) && !trace_read(cursor_memory(&x->t), addr + n, &s[n], 1, &ignored) && s[n])
		n++;
	s[n] = '\0';
	return n ? xstrdup(s) : NULL;
}

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
	expr = string_at(x, r.rdi);
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
 * It stands at the second free of a block: was the pointer read from memory that had been freed? Then that is what was
 * wrong, and the chain. 0: yes; 1: no, and it stands there again; -1.
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
 * It stands at the first free of the block, in `first`. Which of the calls at the failure are those of then? The others
 * have a cfa of 0 afterwards: the same function was called again. The cursor stands anywhere.
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

/* It stands at the first free of the block, which was freed again in `second`. */
static int tell_first_free(struct explain *x, const struct object *o, struct flow_stack *second, struct err *e)
{
	struct flow_stack first;
	struct timeline_point at;
	struct inspect p = {0};
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
	if (!got && flow_tell_giver(&p, o->lo, true, second, e) < 0)
		got = -1;
	inspect_close(&p);
	explain_end(x, END_FREED, "the block was freed here, and once more at the failure");
	x->found = true;
	return got;
}

/* It stands at the call of free or realloc that was refused. */
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

		if (o.heap && o.lo != r.rdi) /* in the middle of one: who added to the pointer has made another one */
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

/* ---- exceptions ---- */

static const char *const throwing[] = {"__cxa_throw", NULL};

static char *symbol_at(struct inspect *p, uint64_t addr)
{
	cleanup_free char *cmd = str_fmt("info symbol 0x%llx", (unsigned long long)addr), *text = NULL;
	struct err ignored;
	char *end;

	if (gdb_console(p->x->g, cmd, &text, &ignored) || !text || !(end = strstr(text, " in section ")))
		return NULL;
	*end = '\0';
	if (strstr(text, "@"))
		*strstr(text, "@") = '\0'; /* a version */
	return xstrdup(text);
}

static uint64_t word_at(struct inspect *p, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(p->copy, addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/* What an object of a class derived from std::exception says; malloc'd. NULL: it is none. */
static char *what_of(struct inspect *p, uint64_t object)
{
	uint64_t what = word_at(p, word_at(p, object) + 16);
	cleanup_free char *name = what ? symbol_at(p, what) : NULL, *call = NULL, *value = NULL;
	char *open, *close;

	if (!name || !strstr(name, "::what() const"))
		return NULL;
	call = str_fmt("((const char *(*)(void *)) 0x%llx)((void *) 0x%llx)", (unsigned long long)what,
		       (unsigned long long)object);
	value = inspect_eval(p, 0, call);
	open = value ? strchr(value, '"') : NULL;
	close = open ? strrchr(open + 1, '"') : NULL;
	return close ? xstrndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

/* The first argument but `this` of the function in a frame of p, if it is a number or an address: where it is. */
static bool argument_of(struct inspect *p, int level, struct insn_loc *l)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_value *list;
	struct err ignored;

	if (gdb_select(p->x->g, 0, level, &ignored) ||
	    gdb_cmd(p->x->g, 0, &r, &ignored, "-stack-list-variables --no-values"))
		return false;
	list = mi_get(r.result->results, "variables");
	for (size_t i = 0; list && i < list->n; i++) {
		const char *name = mi_str(list->item[i], "name");
		cleanup_free char *at = NULL, *size = NULL;
		uint64_t len;

		if (!name || !mi_str(list->item[i], "arg") || str_eq(name, "this"))
			continue;
		at = str_fmt("&(%s)", name);
		size = str_fmt("sizeof(%s)", name);
		if (!inspect_number(p, level, at, &l->addr) || !inspect_number(p, level, size, &len) || len > 8)
			return false;
		l->where = INSN_IN_MEM;
		l->len = (unsigned)len;
		return true;
	}
	return false;
}

/*
 * p stands at the throw of an exception, and is closed. Has a library refused an argument by it? Then that is followed.
 * The chain stays as it is where that is not known, and where a statement of the program's own has thrown it.
 */
static int why_thrown(struct explain *x, struct inspect *p, struct err *e)
{
	int innermost = failure_with_source(p, 1), level = innermost, r = 1;
	size_t before = x->chain.n;
	struct insn_loc l = {0};

	if (level >= 0 && !path_is_system(p->frames[level].fullname)) {
		inspect_close(p);
	} else {
		while (level >= 0 && level + 1 < (int)p->nframes && p->frames[level + 1].fullname &&
		       path_is_system(p->frames[level + 1].fullname))
			level++;
		if (level >= 0 && argument_of(p, level, &l)) {
			inspect_close(p);
			r = flow_follow(x, x->t.in.seg.tid, &l, false, e);
		} else if (innermost >= 0) { /* the compiler has put the function into its caller */
			r = because_of_line(x, p, innermost, false, e);
		} else {
			inspect_close(p);
		}
	}
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r || chain_led_nowhere(x->end) || x->chain.n == before) {
		explain_cut(x, before);
		explain_reopen(x);
	}
	return 0;
}

static int explain_exception(struct explain *x, struct err *e)
{
	cleanup_free char *type = NULL, *what = NULL, *name = NULL;
	struct user_regs_struct r;
	struct inspect p = {0};
	int got;

	failure_set_kind(x, "terminate", "std::terminate was called");
	got = failure_tell(x, &p, e);
	inspect_close(&p);
	if (got)
		return -1;
	got = failure_to_entry(x, throwing, e);
	if (got < 0)
		return -1;
	if (got) {
		explain_end(x, END_DECIDED, "no exception was thrown before");
		x->found = true;
		return 0;
	}
	if (explain_regs(x, x->t.in.seg.tid, &r, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	name = symbol_at(&p, r.rsi);
	type = name && str_starts(name, "typeinfo for ") ? xstrdup(name + strlen("typeinfo for ")) : xstrdup("?");
	what = what_of(&p, r.rdi);
	failure_set_kind(x, "exception", "nobody caught an exception of type %s%s%s", type, what ? ": " : "",
			 what ? what : "");
	str_set(&x->failure.type, "%s", type);
	if (what)
		str_set(&x->failure.what, "%s", what);
	str_set(&x->chain.v[0].words, "%s", x->failure.text);
	if (x->t.in.seg.tid != cursor_now(&x->t, x->tid))
		explain_note(x, "the last exception before the failure was thrown by another thread");
	inspect_step(&p, STEP_THROW, NULL, NULL, what, "an exception of type %s was thrown here%s%s", type,
		     what ? ": " : "", what ? what : "");
	x->found = true;
	if (why_thrown(x, &p, e))
		return -1;
	explain_end(x, END_THROWN, "the exception was thrown here");
	return 0;
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
 * It stands at a call of the recorder's in which the program was aborted: malloc has found the heap damaged there,
 * perhaps for a function of libc's. 1: it has not, and it stands there.
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
		return explain_exception(x, e);
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
