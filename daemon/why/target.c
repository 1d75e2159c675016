/* SPDX-License-Identifier: MIT */
/*
 * target.c: the value that is asked about: an object in memory, a register, a variable that is in a register, or an
 * expression of several of these. See why.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "expr/expr.h"
#include "replay/stack.h"
#include "timetravel/cursor_int.h"
#include "why/why.h"

/* What an expression means. */
struct meaning {
	bool object; /* in memory: l */
	bool reg; /* in a register of the innermost frame: l */
	struct insn_loc l;
	struct agent_result words; /* else: what it reads */
};

/* ---- in a frame ---- */

static bool number(struct gdb *g, pid_t tid, int frame, const char *expr, uint64_t *v, struct err *e)
{
	cleanup_free char *text = NULL, *full = str_fmt("(unsigned long)(%s)", expr);

	return !gdb_eval(g, full, tid, frame, 0, &text, e) && !str_u64(text, 0, 0, UINT64_MAX, v);
}

/* 0; 1: it is no object in memory; -1: e. */
static int of_object(struct gdb *g, pid_t tid, int frame, const char *expr, struct meaning *m, struct err *e)
{
	cleanup_free char *at = str_fmt("&(%s)", expr), *size = str_fmt("sizeof(%s)", expr);
	uint64_t addr, len;
	struct err ignored;

	if (!number(g, tid, frame, size, &len, e))
		return -1;
	if (!number(g, tid, frame, at, &addr, &ignored))
		return 1;
	if (!len || len > 8)
		return err_set(e, ERR_USAGE, "%s has %llu bytes: ask for one of its members or elements", expr,
			       (unsigned long long)len);
	m->object = true;
	m->l = (struct insn_loc){.where = INSN_IN_MEM, .addr = addr, .len = (unsigned)len};
	return 0;
}

static bool reg_named(const char *name, size_t n, unsigned *reg)
{
	for (*reg = 0; *reg < INSN_XMM0; (*reg)++)
		if (strlen(insn_reg_name(*reg)) == n && !strncmp(insn_reg_name(*reg), name, n))
			return true;
	return false;
}

/*
 * "Symbol "a" is a variable in $rdi.", or of several ranges of addresses:
 * "  Range 0x1129-0x1130: a variable in $rax"
 */
static bool reg_in(const char *text, uint64_t pc, unsigned *reg)
{
	static const char in[] = "a variable in $";
	const char *s = strstr(text, in);

	if (s && !strstr(text, "multi-location"))
		return reg_named(s + strlen(in), strspn(s + strlen(in), "abcdefghijklmnopqrstuvwxyz0123456789"), reg);
	for (s = strstr(text, "Range 0x"); s; s = strstr(s + 1, "Range 0x")) {
		unsigned long long lo, hi;
		int n = 0;

		if (sscanf(s, "Range %llx-%llx: %n", &lo, &hi, &n) < 2 || !n || pc < lo || pc >= hi ||
		    !str_starts(s + n, in))
			continue;
		s += n + strlen(in);
		return reg_named(s, strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789"), reg);
	}
	return false;
}

static bool of_register(struct gdb *g, const char *expr, uint64_t pc, struct meaning *m)
{
	cleanup_free char *cmd = str_fmt("info address %s", expr), *text = NULL, *size = str_fmt("sizeof(%s)", expr);
	struct err ignored;
	uint64_t len = 8;

	m->l = (struct insn_loc){.where = INSN_IN_REG};
	if (*expr == '$')
		m->reg = reg_named(expr + 1, strlen(expr + 1), &m->l.reg);
	else if (!gdb_console_at(g, 0, 0, 0, cmd, &text, &ignored) && text)
		m->reg = reg_in(text, pc, &m->l.reg) && number(g, 0, 0, size, &len, &ignored);
	m->l.len = len < 8 ? (unsigned)len : 8;
	return m->reg;
}

/* The words in memory that it reads. */
static int of_words(struct gdb *g, pid_t tid, pid_t pid, const char *expr, struct meaning *m, struct err *e)
{
	struct expr x;
	struct expr_value v;
	int r = 0;

	if (expr_init(&x, g, expr, tid, e))
		return -1;
	if (!x.compiled) {
		r = err_set(e, ERR_USAGE,
			    "%s is no object in memory, and what it is computed from is not known: ask for a variable",
			    expr);
	} else {
		expr_eval_memory(&x, pid, &v);
		m->words = v.words;
		if (v.truth == SEARCH_ERROR)
			r = err_set(e, ERR_NOT_FOUND, "%s: %s", expr, v.text);
		else if (!v.words.ranges_n)
			r = err_set(e, ERR_USAGE, "%s reads no memory: it is a constant", expr);
	}
	expr_fini(&x);
	return r;
}

/* pc: of the innermost frame, where registers can be followed; 0: they cannot. */
static int mean(struct gdb *g, pid_t tid, int frame, pid_t pid, uint64_t pc, const char *expr, struct meaning *m,
		struct err *e)
{
	int r;

	*m = (struct meaning){0};
	if (pc && *expr == '$' && of_register(g, expr, pc, m))
		return 0;
	r = of_object(g, tid, frame, expr, m, e);
	if (r < 0)
		return err_wrap(e, "%s", expr);
	if (!r || (pc && of_register(g, expr, pc, m)))
		return 0;
	return of_words(g, tid, pid, expr, m, e);
}

/* ---- to the position ---- */

/* With all threads, where an event has just been done: 0; 1: it means nothing there. */
static int mean_at_event(struct why *w, uint64_t event, const char *expr, struct meaning *m, struct err *e)
{
	struct explain *x = &w->x;
	struct gdb_frame *frames = NULL;
	size_t n = 0;
	struct err why;
	pid_t tid;
	int r = 1;

	if (nav_goto(&x->nav, event, e) || gdb_attach(x->g, x->nav.t.pid, e))
		return -1;
	tid = target_tid(&x->nav.t, x->nav.t.ctl->parked);
	if (!gdb_backtrace(x->g, tid, 0, &frames, &n, &why))
		r = mean(x->g, tid, (int)stack_user_frame(frames, n), x->nav.t.pid, 0, expr, m, &why) ? 1 : 0;
	gdb_frames_free(frames, n);
	return gdb_detach(x->g, e) ? -1 : r;
}

static int go(struct why *w, const char *at, struct timeline_point *p, struct err *e)
{
	struct explain *x = &w->x;

	*p = (struct timeline_point){.event = nav_total(&x->nav)};
	if (at && nav_resolve(&x->nav, at, p, e))
		return -1;
	if (p->pc)
		return cursor_goto_point(&x->t, p, e);
	return p->event == nav_total(&x->nav) ? explain_goto_failure(x, e) : 0;
}

/* ---- the root ---- */

static void root_of_words(struct why *w, struct inspect *p, const struct meaning *m)
{
	struct why_step *s = why_step_new();

	s->at = p->at;
	s->tid = w->x.t.in.seg.tid;
	s->words = xstrdup("computed");
	s->thread = json_incref(p->thread);
	s->location = json_incref(p->location);
	s->backtrace = json_incref(p->backtrace);
	for (size_t k = 0; k < m->words.ranges_n; k++) {
		const struct agent_range *range = &m->words.range[k];
		struct insn_loc l = {.where = INSN_IN_MEM, .addr = range->addr, .len = (unsigned)range->len};
		struct why_operand *o = why_operand_new(&l, s->tid);

		o->at = p->at;
		if (flow_read(&w->x, NULL, &l, o->value)) {
			why_name(p, o);
			why_step_add(s, o);
		} else {
			why_operand_fini(o);
			free(o);
		}
	}
	w->root.from = s;
	why_know(w, &w->root.from);
}

static int root(struct why *w, struct inspect *p, const char *expr, const struct meaning *m, struct err *e)
{
	struct why_operand *o = &w->root;
	struct user_regs_struct r;

	o->tid = w->x.t.in.seg.tid;
	o->at = p->at;
	o->name = xstrdup(expr);
	o->text = inspect_eval(p, p->user, expr);
	if (!m->object && !m->reg) {
		root_of_words(w, p, m);
		return 0;
	}
	o->l = m->l;
	if (explain_regs(&w->x, o->tid, &r, e))
		return -1;
	if (!flow_read(&w->x, &r, &o->l, o->value))
		return err_set(e, ERR_NOT_FOUND, "%s: the value cannot be read", expr);
	why_name(p, o);
	return 0;
}

int why_target(struct why *w, const char *expr, const char *at, struct err *e)
{
	struct explain *x = &w->x;
	struct timeline_point p;
	struct inspect i = {0};
	struct meaning m;
	int known = 1, r = -1;

	if (go(w, at, &p, e))
		return -1;
	if (!p.pc && p.event < nav_total(&x->nav)) {
		known = mean_at_event(w, p.event, expr, &m, e);
		if (known < 0 || cursor_goto(&x->t, p.event, e))
			return -1;
	}
	if (x->no_code)
		err_set(e, ERR_NOT_FOUND,
			"the program jumped to an address without code: give a position before that jump (--at)");
	else if (!inspect_open(&i, x, e) &&
		 (!known || !mean(x->g, 0, i.user, i.copy, i.frames[i.user].level ? 0 : i.at.pc, expr, &m, e)))
		r = root(w, &i, expr, &m, e);
	inspect_close(&i);
	return r;
}
