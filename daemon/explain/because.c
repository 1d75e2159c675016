/* SPDX-License-Identifier: MIT */
/* because.c: why a statement was executed: see failure.h. */
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "explain/ring.h"
#include "flow/flow.h"
#include "replay/stack.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

/* ---- what a condition of the program's own decided ---- */

#define BRANCH_STEPS 3000u
#define ANSWER_WORK 15000u /* to look for why a function said no */

#define BRANCHES_KNOWN 64u

/* Branches that are in none of the lines. A loop comes to the same ones again and again, and asking GDB takes long. */
struct branches {
	uint64_t pc[BRANCHES_KNOWN];
	unsigned n;
};

static bool is_known(const struct branches *b, uint64_t pc)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->pc[i] == pc)
			return true;
	return false;
}

/* Is the branch in front of which the program stands in these lines? -1: it failed. */
static int is_in_lines(struct explain *x, uint64_t pc, const struct condition *c, struct branches *others,
		       struct err *e)
{
	struct gdb_line line = {0};
	struct inspect p = {0};
	int r;

	if (is_known(others, pc))
		return 0;
	r = inspect_open(&p, x, e) || gdb_line_at(x->g, pc, &line, e) ? -1 : 0;
	if (!r)
		r = line.line >= c->from && line.line <= c->to;
	if (!r && others->n < BRANCHES_KNOWN)
		others->pc[others->n++] = pc;
	gdb_line_fini(&line);
	inspect_close(&p);
	return r;
}

/*
 * Is that the entry of a part that gcc has split off a function, such as the call of an assertion that fails? The
 * function calls that part.
 */
static bool is_split_off(struct explain *x, uint64_t pc)
{
	cleanup_free char *symbol = NULL;
	struct inspect p = {0};
	struct err ignored;

	if (!inspect_open(&p, x, &ignored))
		symbol = inspect_symbol(x->g, pc);
	inspect_close(&p);
	return symbol && strstr(symbol, ".part");
}

/* own: the highest stack pointer that was seen in the function; the frames of what it called are below that. */
int because_to_branch(struct explain *x, const struct condition *c, struct err *e)
{
	pid_t tid = x->t.in.seg.tid;
	struct branches others = {.n = 0};
	struct user_regs_struct r;
	uint64_t own;
	bool ignored;

	if (explain_regs(x, tid, &r, e))
		return -1;
	own = r.rsp + (visibility_is_shim(&x->t.visibility, r.rip) ? sizeof(own) : 0);
	for (unsigned n = 0; n < BRANCH_STEPS && !explain_is_over(x); n++) {
		uint8_t code[INSN_BYTES];
		uint64_t after = r.rip;
		enum insn_kind kind;
		struct stop stop;
		struct insn i;
		int got = 0;

		if (cursor_back_step(&x->t, tid, &stop, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (explain_regs(x, tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, e))
			continue;
		kind = insn_kind(&i);
		if (kind == INSN_CALL && r.rsp > own && !is_split_off(x, after)) /* to its caller */
			return 1;
		if (r.rsp > own)
			own = r.rsp;
		if (kind == INSN_RET) /* out of what it has called: to the call */
			got = flow_last_write(x, r.rsp, 8, 0, &ignored, e);
		else if (kind == INSN_BRANCH && r.rsp == own)
			got = is_in_lines(x, r.rip, c, &others, e);
		if (got)
			return got < 0 ? -1 : kind == INSN_RET;
	}
	return 1;
}

/* Is the object that was found last a variable of a function? It may be in registers alone. */
static bool is_on_stack(struct explain *x)
{
	struct mapping m;

	return !x->memory || shim_is_stack(x->memory) ||
	       (x->t.mode && maps_find(cursor_memory(&x->t), x->memory, &m) && str_eq(m.path, "[stack]"));
}

/* Does the chain end at a call whose result is stored in no variable? */
static bool is_of_calls(enum chain_end end)
{
	return end == END_INPUT || end == END_CLOSED;
}

/* Does the chain end at a statement that returns true or false? */
static bool says_yes_or_no(const struct explain *x)
{
	static const char *const answers[] = {"0", "1", "true", "false"};
	const struct step *last = &x->chain.v[x->chain.n - 1];
	const char *text = json_string_value(json_object_get(last->location, "text"));
	const char *s = text ? strstr(text, "return") : NULL;
	bool is = false;
	size_t n;

	if (x->end != END_CONSTANT || !s || !last->at.pc || !last->at.hits)
		return false;
	s += strlen("return");
	s += strspn(s, " (");
	n = strcspn(s, " );");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		is |= strlen(answers[i]) == n && !strncmp(s, answers[i], n);
	return is;
}

/*
 * The chain ends at what a function returned about its arguments, which is no cause. Why was that statement executed?
 * 0: the chain goes on from there; 1: it is not known, and the chain is not changed; -1.
 */
static int why_answer(struct explain *x, enum condition_of of, struct err *e)
{
	struct timeline_point at = x->chain.v[x->chain.n - 1].at;
	uint64_t until = x->until;
	size_t before = x->chain.n;
	struct inspect p = {0};
	int r;

	explain_reopen(x);
	if (cursor_goto_point(&x->t, &at, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	explain_limit(x, ANSWER_WORK);
	r = because_of_condition(x, &p, p.user, false, of, e);
	x->until = until;
	if (r < 0 && explain_may_go_on(x, e))
		r = 1;
	if (r == 1)
		explain_cut(x, before);
	return r;
}

/*
 * Goes back to the call that is being executed in a frame of p, which is open. Returns where that call's return address
 * is; 0: there is no call, the program stands in that function itself.
 */
static uint64_t call_of_frame(struct inspect *p, int level)
{
	struct gdb_regs own, outer;
	struct err ignored;

	if (level <= 0 || gdb_frame_regs(p->x->g, 0, 0, &own, &ignored) ||
	    gdb_frame_regs(p->x->g, 0, level, &outer, &ignored) || own.value[GDB_REG_SP] == outer.value[GDB_REG_SP])
		return 0;
	return outer.value[GDB_REG_SP] - 8;
}

/* Are all steps after the first `before` in the condition itself? Then they say no more than that it did not hold. */
static bool is_in_condition(const struct explain *x, size_t before, const struct condition *c)
{
	const json_t *file = json_object_get(x->chain.v[0].location, "file");

	for (size_t i = before; i < x->chain.n; i++) {
		const json_t *l = x->chain.v[i].location;
		json_int_t line = json_integer_value(json_object_get(l, "line"));

		if (c->to == INT_MAX || line < c->from || line > c->to || !json_equal(json_object_get(l, "file"), file))
			return false;
	}
	return true;
}

/*
 * Follows what the instruction compared that decided the branch in these lines. at: the statement; call: as of
 * call_of_frame, of its frame. begins: the chain's last step is only where a variable begins; it is dropped if more is
 * found. 0: found, or `begins`; 1: not.
 */
static int by_branch(struct explain *x, const struct condition *c, const struct timeline_point *at, uint64_t call,
		     enum condition_of of, bool begins, struct err *e)
{
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL;
	enum chain_end end = x->end;
	size_t before = x->chain.n;
	bool ignored;
	int r;

	explain_reopen(x);
	r = cursor_goto_point(&x->t, at, e);
	if (!r && call)
		r = flow_last_write(x, call, 8, 0, &ignored, e);
	if (!r)
		r = because_to_branch(x, c, e);
	x->memory = 0;
	if (!r)
		r = flow_follow(x, x->t.in.seg.tid, &flags, false, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (!r && x->chain.n > before && says_yes_or_no(x)) {
		r = why_answer(x, of, e);
		if (r < 0)
			return -1;
	}
	if (!r && x->chain.n > before && is_in_condition(x, before, c) && !is_of_calls(x->end))
		r = 1;
	if (!r && x->chain.n > before && !(of == CONDITION_OF_OBJECTS && is_on_stack(x) && !is_of_calls(x->end)) &&
	    !chain_led_nowhere(x->end)) {
		if (begins)
			explain_drop(x, before - 1);
		return 0;
	}
	/* it led nowhere */
	explain_cut(x, before);
	explain_reopen(x);
	if (begins)
		explain_end(x, end, "%s", text ? text : "?");
	return !begins;
}

int because_of_line(struct explain *x, struct inspect *p, int level, bool begins, struct err *e)
{
	struct timeline_point at = p->at;
	struct condition c = {.from = p->frames[level].line, .to = p->frames[level].line};
	uint64_t call = call_of_frame(p, level);
	int r;

	inspect_close(p);
	if (!at.pc)
		return !begins;
	r = by_branch(x, &c, &at, call, CONDITION_OF_ALL, begins, e);
	if (r != 1)
		return r;
	/* the branch is in the lines of a function that the compiler has inlined */
	c = (struct condition){.from = 1, .to = INT_MAX};
	return by_branch(x, &c, &at, call, CONDITION_OF_ALL, false, e);
}

/* ---- loops that are given up ---- */

/* Is the expression about one name, which the loop counts, and constants? */
static bool is_about_counter(const char *expr, const char *loop)
{
	char name[64] = "";

	for (const char *s = expr; *s;) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		size_t upper = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		if (n && upper < n) {
			if (n >= sizeof(name) || (*name && (strlen(name) != n || strncmp(name, s, n))))
				return false;
			memcpy(name, s, n);
			name[n] = '\0';
		} else if (!n && !strchr(" ()=<>!+-", *s)) {
			return false;
		}
		s += n ? n : 1;
	}
	if (!*name)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		static const char *const steps[] = {"%s++", "++%s", "%s--", "--%s"};
		char step[80];

		snprintf(step, sizeof(step), steps[i], name);
		if (strstr(loop, step))
			return true;
	}
	return false;
}

/*
 * Does the loop around the statement of a frame follow a list that has no end? p is open, and is closed. 0: found; 1:
 * it is no such loop; -1.
 */
static int by_ring(struct explain *x, struct inspect *p, int level, const struct condition *loop, struct err *e)
{
	cleanup_free char *name = NULL, *field = NULL;
	uint64_t word[RING_MOST], call;
	bool walks, ignored;
	unsigned n = 0;
	int r;

	walks = loop->all && condition_list_walked(loop->all, &name, &field);
	call = walks ? call_of_frame(p, level) : 0;
	if (walks)
		n = ring_read(p, level, name, field, word);
	inspect_close(p);
	if (walks && !n) { /* the variable may have been in a register that has another use now */
		r = call ? flow_last_write(x, call, 8, 0, &ignored, e) : 0;
		if (!r)
			r = because_to_branch(x, loop, e);
		if (r > 0)
			explain_reopen(x);
		if (r < 0 || (!r && inspect_open(p, x, e))) {
			inspect_close(p);
			return -1;
		}
		if (!r)
			n = ring_read(p, p->user, name, field, word);
		inspect_close(p);
	}
	if (!n)
		return 1;
	return ring_tell(x, word, n, name, field, e);
}

/*
 * The condition says that a loop has made too many rounds: searches for what turned the loop's own condition, which
 * never turned back. p is open. 0: found; 1: not; -1, and p is closed.
 */
static int by_loop(struct explain *x, struct inspect *p, int level, const struct condition *c, const char *bad,
		   struct err *e)
{
	struct timeline_point at = p->at;
	cleanup_free char *good = NULL, *plain = NULL, *frozen = NULL;
	struct condition loop;
	int r = 1;

	condition_at(p, level, condition_of_loop, &loop);
	if (!loop.text || loop.effects || !loop.all || !is_about_counter(c->text, loop.all)) {
		inspect_close(p);
		condition_fini(&loop);
		return 1;
	}
	good = condition_good(&loop);
	plain = condition_expand(p, level, good);
	frozen = condition_freeze(p, level, plain);
	r = by_ring(x, p, level, &loop, e);
	if (r == 1)
		r = condition_turned(x, good, frozen, "", bad, NULL, e);
	if (!r) {
		x->found = true;
		explain_end(x, END_TRANSITION, "since then the loop around the statement has continued");
	}
	condition_fini(&loop);
	if (r == 1 && cursor_goto_point(&x->t, &at, e))
		return -1;
	return r;
}

int because_of_count(struct explain *x, struct inspect *p, int level, const char *expr, struct err *e)
{
	struct condition c = {.text = (char *)expr};
	struct timeline_point at = p->at;
	cleanup_free char *bad = str_fmt("%llu/0x%llx#%llu", (unsigned long long)at.event, (unsigned long long)at.pc,
					 (unsigned long long)at.hits);
	int r = at.pc ? by_loop(x, p, level, &c, bad, e) : 1;

	if (r == 1 && !p->copy && inspect_open(p, x, e)) {
		inspect_close(p);
		return -1;
	}
	return r;
}

/* frames of a function that only ends the program; the condition is in its caller */
#define CALLERS_MOST 4u

/*
 * Looks for the cause in the `if` around the statement of a frame. p is open at that position, and is closed. called:
 * the program stands at the entry of a function that the statement has called.
 */
int because_of_condition(struct explain *x, struct inspect *p, int level, bool called, enum condition_of of,
			 struct err *e)
{
	struct timeline_point at = p->at;
	cleanup_free char *expr = NULL;
	struct condition c = {0};
	int r = 1, own = level;
	uint64_t call;

	if (level >= 0)
		condition_at(p, level, condition_around, &c);
	for (unsigned i = 0; !c.text && level >= 0 && i < CALLERS_MOST && (called || of == CONDITION_OF_OBJECTS); i++) {
		level = failure_with_source(p, level + 1);
		if (level >= 0)
			condition_at(p, level, condition_around, &c);
	}
	if (!c.text && of == CONDITION_OF_ALL &&
	    (called || !(own >= 0 && stack_is_inlined(p->frames, p->nframes, (size_t)own)))) {
		/* the function's last branch has led to the statement */
		level = own;
		c = (struct condition){.from = 1, .to = INT_MAX};
	}
	call = call_of_frame(p, level);
	if (c.text) {
		cleanup_free char *bad = str_fmt("%llu/0x%llx#%llu", (unsigned long long)at.event,
						 (unsigned long long)at.pc, (unsigned long long)at.hits);

		r = at.pc ? by_loop(x, p, level, &c, bad, e) : 1;
	}
	if (r == 1 && c.text && !c.effects && !c.chooses) {
		if (!p->copy && (cursor_goto_point(&x->t, &at, e) || inspect_open(p, x, e))) {
			inspect_close(p);
			condition_fini(&c);
			return -1;
		}
		expr = condition_good(&c);
		r = condition_search(x, p, level, expr, of, e);
	} else {
		inspect_close(p);
	}
	if ((r == 1 || r == CONDITION_BEGINS) && level >= 0 && at.pc && c.to)
		r = by_branch(x, &c, &at, call, of, r == CONDITION_BEGINS, e);
	if (!r && x->chain.n > 1)
		x->found = true;
	condition_fini(&c);
	return r;
}

int because_of_bound(struct explain *x, struct err *e)
{
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL;
	size_t before = x->chain.n;
	struct condition c = {0};
	enum chain_end end = x->end;
	struct inspect p = {0};
	int r = 1;

	if (!x->counted || end != END_COMPUTED)
		return 0;
	if (explain_goto_failure(x, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	condition_at(&p, p.user, condition_of_loop, &c);
	inspect_close(&p);
	explain_reopen(x);
	if (c.text)
		r = because_to_branch(x, &c, e);
	if (!r)
		r = flow_follow_bound(x, x->t.in.seg.tid, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r || chain_led_nowhere(x->end) || x->chain.n == before) {
		explain_cut(x, before);
		explain_end_instead(x, end, "%s", text ? text : "?");
	} else {
		explain_note(
			x, "a loop ran up to the failure: from there on the chain follows the limit of the loop, `%s'",
			c.text);
	}
	condition_fini(&c);
	return 0;
}

/*
 * The origin of the value does not say why it was used there. The chain ended at its first step, so the condition under
 * which that statement was executed is searched.
 */
int because_here(struct explain *x, struct err *e)
{
	struct inspect p = {0};
	int r;

	if (x->chain.n != 1 || !x->end || !(x->end == END_INITIAL || x->end == END_CONSTANT))
		return 0;
	if (explain_goto_failure(x, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	{
		enum chain_end end = x->end;
		cleanup_free char *text = xstrdup(x->end_text);

		x->end = END_OPEN;
		r = because_of_condition(x, &p, p.user, false, CONDITION_OF_ALL, e);
		if (r < 0)
			return -1;
		if (!r && x->end == END_INITIAL) { /* what the program was given, such as its arguments, is no cause */
			explain_cut(x, 1);
			r = 1;
		}
		if (r)
			explain_end_instead(x, end, "%s", text);
		else
			explain_note(x, "%s; so the chain follows why the statement was executed", text);
	}
	return 0;
}
