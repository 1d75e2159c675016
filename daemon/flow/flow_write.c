/* SPDX-License-Identifier: MIT */
/* flow_write.c: back to the last write of memory: see flow.h. */
#include <string.h>

#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

/*
 * As cursor_back_continue, from the end of a segment at whose PC there is no code: the state itself is not searched
 * for.
 */
static int back_from_end(struct explain *x, struct stop *stop, struct err *e)
{
	struct stop back;
	int r = segcur_last_stop(&x->t.in, &x->t.breaks, stop, e);

	if (r < 0)
		return -1;
	x->no_code = false;
	if (r)
		return cursor_enter(&x->t, x->t.in.n, e) || cursor_back_continue(&x->t, stop, e) ? -1 : 0;
	x->t.tid = x->t.in.seg.tid;
	return stop->kind == STOP_WATCH && !stop->before ? cursor_back_step(&x->t, x->t.tid, &back, e) : 0;
}

static void watch_nothing(struct breaks *b)
{
	memset(b->watch, 0, sizeof(b->watch));
	b->nmore = 0;
}

int flow_last_write(struct explain *x, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e)
{
	struct insn_loc l[2] = {{.where = INSN_IN_MEM, .addr = addr, .len = len},
				{.where = INSN_IN_MEM, .addr = birth, .len = 8}};
	unsigned which = 0;
	int r = flow_last_write_of(x, l, birth ? 2 : 1, &which, e);

	*is_birth = which == 1;
	return r;
}

int flow_last_write_of(struct explain *x, const struct insn_loc *l, unsigned n, unsigned *which, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct stop stop = {0};
	int r = 0;

	watch_nothing(b);
	b->many = !x->no_code; /* back_from_end can use only debug registers */
	for (unsigned k = 0; k < n && !r; k++)
		r = breaks_watch(b, GROUP_STORE, l[k].addr, l[k].len);
	if (r) {
		explain_end(x, END_UNKNOWN, "the memory at 0x%llx cannot be watched", (unsigned long long)l[0].addr);
		watch_nothing(b);
		return 2;
	}
	r = x->no_code ? back_from_end(x, &stop, e) : cursor_back_continue(&x->t, &stop, e);
	watch_nothing(b);
	if (r && e->kind == ERR_CANCELLED && !op_cancelled(x->ctx)) {
		explain_end(x, END_LIMIT, "the last write was not found in time");
		return 2;
	}
	if (r)
		return -1;
	switch (stop.kind) {
	case STOP_WATCH:
		*which = 0;
		for (unsigned k = 1; k < n; k++)
			if (stop.addr >= l[k].addr && stop.addr < l[k].addr + l[k].len)
				*which = k;
		return 0;
	case STOP_BEGIN:
		return 1;
	default:
		explain_end(x, END_LIMIT, "the last write was not found in time");
		return 2;
	}
}

bool flow_is_call(struct explain *x)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct err ignored;
	struct insn i;

	return explain_regs(x, x->t.in.seg.tid, &r, &ignored) || visibility_is_shim(&x->t.visibility, r.rip) ||
	       explain_insn(x, &r, code, &i, &ignored) || insn_kind(&i) == INSN_CALL;
}
