/* SPDX-License-Identifier: MIT */
/* failure.c: see failure.h. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "rlog/heap.h"
#include "timetravel/cursor_int.h"

void failure_set_kind(struct explain *x, const char *kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	x->failure.kind = kind;
	free(x->failure.text);
	x->failure.text = str_vfmt(fmt, ap);
	va_end(ap);
}

/* ---- back to the call of a function ---- */

/* Goes back to the last entry of one of these functions. 0; 1: there is none, and it stands at its failure; -1. */
int failure_to_entry(struct explain *x, const char *const *functions, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct stop stop = {0};
	struct inspect p = {0};
	int r = 0;

	if (inspect_open(&p, x, e))
		r = -1;
	for (const char *const *f = functions; !r && *f; f++) {
		cleanup_free char *at = str_fmt("&'%s'", *f), *plain = str_fmt("&%s", *f);
		uint64_t addr;

		if (inspect_number(&p, 0, plain, &addr) || inspect_number(&p, 0, at, &addr))
			breaks_add(b, addr, 0);
	}
	inspect_close(&p);
	if (!r && !b->n)
		return 1;
	if (!r)
		r = cursor_back_continue(&x->t, &stop, e);
	breaks_fini(b);
	if (r && (e->kind != ERR_CANCELLED || op_cancelled(x->ctx)))
		return -1;
	if (!r && stop.kind == STOP_BREAK)
		return 0;
	return explain_goto_failure(x, e) ? -1 : 1;
}

/* From here on this is where it failed. */
int failure_is_here(struct explain *x, struct err *e)
{
	x->tid = x->t.in.seg.tid;
	return cursor_where(&x->t, &x->at, e);
}

int failure_tell_block(struct explain *x, uint64_t header, enum step_role role, const char *what, const char *more,
		       struct err *e)
{
	struct inspect p = {0};
	bool ignored;
	int r = flow_last_write(x, header, 8, 0, &ignored, e);

	if (r)
		return r < 0 ? -1 : 1;
	if (inspect_open(&p, x, e))
		r = -1;
	else
		inspect_step(&p, role, NULL, NULL, NULL, "the block was %s here, by %s%s", what,
			     inspect_function(&p, 0), more);
	if (!r && role == STEP_FREE && flow_tell_giver(&p, header + sizeof(struct heap_block), true, NULL, e) < 0)
		r = -1;
	inspect_close(&p);
	return r;
}

int failure_to_shim_call(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop;

	if (explain_regs(x, x->tid, &r, e))
		return -1;
	if (!shim_frames_hides(&x->t.shim_frames, &x->t.visibility, cursor_memory(&x->t), &r))
		return 0;
	return cursor_back_step(&x->t, x->tid, &stop, e) || failure_is_here(x, e) ? -1 : 0;
}

uint64_t failure_word(struct explain *x, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(cursor_memory(&x->t), addr, &v, sizeof(v), &ignored) ? 0 : v;
}

uint64_t failure_value(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l)
{
	return l->where == INSN_IN_REG ? insn_reg(r, l->reg) : failure_word(x, l->addr);
}

/* Adds the step of the failure, where the program stands. */
int failure_tell(struct explain *x, struct inspect *p, struct err *e)
{
	if (inspect_open(p, x, e))
		return -1;
	inspect_step(p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	return 0;
}

/* The innermost frame after `level` that has source. */
int failure_with_source(const struct inspect *p, int level)
{
	for (size_t i = (size_t)level; i < p->nframes; i++)
		if (p->frames[i].fullname && p->frames[i].line > 0)
			return (int)i;
	return -1;
}

uint64_t failure_event_before(struct explain *x, uint32_t thread, uint64_t n)
{
	struct timeline_where w;
	struct err ignored;

	while (--n > nav_first(&x->nav))
		if (!timeline_find(x->nav.t.tl, n, &w, &ignored) && w.thread == thread && w.process == x->process)
			return n;
	return 0;
}

uint64_t failure_last_event(struct explain *x, uint32_t thread)
{
	return failure_event_before(x, thread, nav_total(&x->nav) + 1);
}

char *failure_text(struct explain *x, uint64_t addr)
{
	char s[512];
	struct err ignored;
	size_t n = 0;

	while (n + 1 < sizeof(s) && !trace_read(cursor_memory(&x->t), addr + n, &s[n], 1, &ignored) && s[n])
		n++;
	s[n] = '\0';
	return n ? xstrdup(s) : NULL;
}
