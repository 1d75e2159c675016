/* SPDX-License-Identifier: MIT */
/* explain.c: see explain.h. */
#define LOG_DOMAIN "explain"
#include "chain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "timetravel/cursor_int.h"

static bool is_cancelled(void *ctx)
{
	struct explain *x = ctx;

	return op_cancelled(x->ctx);
}

int explain_begin(struct explain *x, struct err *e)
{
	const struct rec_image *img = rec_image(x->rec, x->process, e);

	if (!img)
		return -1;
	x->ending = procs_ending(x->rec, img);
	if (nav_init(&x->nav, x->rec, x->process, 0, x->ctx, e))
		return -1;
	x->have_nav = true;
	cursor_init(&x->t, &x->nav);
	x->t.interrupted = is_cancelled;
	x->t.ctx = x;
	return 0;
}

int explain_first_way(struct explain *x, const char *what, struct err *e)
{
	struct timeline_point start;
	uint64_t total = nav_total(&x->nav), near;

	x->nav.what = what;
	x->nav.span_hi = 0.3;
	if (nav_resolve(&x->nav, "start", &start, e) || nav_goto(&x->nav, start.event, e))
		return -1;
	if (nav_ckpt_after(&x->nav, start.event, &near))
		return 1;
	return nav_run_with_checkpoints(&x->nav, total, nav_checkpoints_wanted(&x->nav, start.event, total), e);
}

void explain_fini(struct explain *x)
{
	if (x->have_nav)
		cursor_fini(&x->t);
	gdb_free(x->g);
	if (x->have_nav)
		nav_fini(&x->nav);
	chain_fini(&x->chain);
	strv_fini(&x->notes);
	chain_failure_fini(&x->failure);
	json_decref(x->threads);
	json_decref(x->damage);
	free(x->compared_expr);
	free(x->end_text);
	rec_free(x->rec);
}

static void set_end(struct explain *x, enum chain_end end, const char *fmt, va_list ap)
{
	x->end = end;
	free(x->end_text);
	x->end_text = str_vfmt(fmt, ap);
}

void explain_end(struct explain *x, enum chain_end end, const char *fmt, ...)
{
	va_list ap;

	if (x->end)
		return;
	va_start(ap, fmt);
	set_end(x, end, fmt, ap);
	va_end(ap);
}

void explain_end_instead(struct explain *x, enum chain_end end, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_end(x, end, fmt, ap);
	va_end(ap);
}

void explain_reopen(struct explain *x)
{
	x->end = END_OPEN;
	free(x->end_text);
	x->end_text = NULL;
}

void explain_cut(struct explain *x, size_t n)
{
	chain_cut(&x->chain, n);
	if (x->kept > n)
		x->kept = 0;
	if (x->emptied > n)
		x->emptied = 0;
	if (x->overrun.steps > n)
		x->overrun.steps = 0;
	if (x->returned.steps > n)
		x->returned.slot = 0;
}

/* steps: indices, the last of which is the step that is looked at. Removes the step i. */
static void without(size_t *steps, size_t i)
{
	if (*steps == i + 1)
		*steps = 0;
	else if (*steps > i)
		(*steps)--;
}

void explain_drop(struct explain *x, size_t i)
{
	chain_drop(&x->chain, i);
	without(&x->kept, i);
	without(&x->emptied, i);
	without(&x->overrun.steps, i);
	if (x->returned.steps > i)
		x->returned.steps--;
}

void explain_note(struct explain *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strv_take(&x->notes, str_vfmt(fmt, ap));
	va_end(ap);
}

uint64_t explain_limit(struct explain *x, uint64_t most)
{
	uint64_t was = x->until;

	if (x->t.work + most < was)
		x->until = x->t.work + most;
	return was;
}

bool explain_is_over(struct explain *x)
{
	if (x->chain.n >= x->depth)
		explain_end(x, END_LIMIT, "the chain has as many steps as were asked for (--depth)");
	else if (x->t.work > x->until)
		explain_end(x, END_LIMIT, "the search has taken too long to go on");
	return x->end != END_OPEN;
}

bool explain_may_go_on(struct explain *x, const struct err *e)
{
	struct err ignored;

	if (op_cancelled(x->ctx) || gdb_dead(x->g) || (e->kind != ERR_CANCELLED && e->kind != ERR_INTERNAL))
		return false;
	log_info("%s", e->text);
	breaks_fini(&x->t.breaks);
	if (cursor_leave(&x->t, &ignored))
		log_info("%s", ignored.text);
	target_kill(&x->nav.t);
	return true;
}

int explain_regs(struct explain *x, pid_t tid, struct user_regs_struct *r, struct err *e)
{
	struct trace *t = cursor_thread(&x->t, tid, e);

	return t ? trace_get_regs(t, r, e) : -1;
}

int explain_insn(struct explain *x, const struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e)
{
	struct err ignored;

	for (size_t n = INSN_BYTES; n; n--)
		if (!trace_read(cursor_memory(&x->t), r->rip, code, n, &ignored)) {
			*i = (struct insn){code, n, r};
			return 0;
		}
	return err_set(e, ERR_NOT_FOUND, "there is no code at 0x%llx", (unsigned long long)r->rip);
}

/* Is there code at the PC? */
static bool has_code(struct explain *x)
{
	struct user_regs_struct r;
	struct err ignored;
	struct mapping m;

	return explain_regs(x, x->tid, &r, &ignored) || (maps_find(cursor_memory(&x->t), r.rip, &m) && m.exec);
}

int explain_goto_failure(struct explain *x, struct err *e)
{
	uint64_t total = nav_total(&x->nav);
	struct timeline_where last, w;
	struct err why;

	if (x->at.pc)
		return cursor_goto_point(&x->t, &x->at, e);
	if (!total || timeline_find(x->nav.t.tl, total, &last, e))
		return total ? -1 : err_set(e, ERR_USAGE, "%s: nothing was recorded", x->rec->dir);
	for (uint64_t n = total; n > nav_first(&x->nav); n--) {
		int r;

		if (timeline_find(x->nav.t.tl, n, &w, e))
			return -1;
		if (w.thread != last.thread || w.process != last.process)
			continue;
		r = cursor_goto_end(&x->t, n - 1, e);
		if (r > 0)
			continue;
		if (r < 0)
			return -1;
		x->tid = x->t.tid;
		x->no_code = !has_code(x) || cursor_where(&x->t, &x->at, &why);
		if (x->no_code)
			x->at.pc = 0;
		return 0;
	}
	return err_set(e, ERR_NOT_FOUND, "thread %u has executed nothing of the program's own", last.thread);
}
