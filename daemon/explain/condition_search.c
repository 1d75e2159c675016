/* SPDX-License-Identifier: MIT */
/* condition_search.c: see condition_search.h. */
#define LOG_DOMAIN "explain"
#include "explain/condition_search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "explain/failure.h"
#include "expr/rewrite.h"
#include "expr/text.h"
#include "flow/flow.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"
#include "watch/watch.h"

/* ---- the search ---- */

#define SETTLE_MAX 6u
#define LATER_NS 3000000000u /* to know that a transition is the last one */
#define WATCH_MS 500u /* milliseconds of work that a search counts as; see cursor.h */

/* What a reverse-watch found. */
struct transition {
	struct step step; /* its text is set when it becomes part of the chain */
	struct strv notes;
	bool found, may_be_later, had_value;
	bool told; /* the chain owns the step */
};

static void read_transition(struct transition *t, const struct watch_result *r)
{
	json_auto_t *position = watch_position_json(r);

	t->found = true;
	t->may_be_later = r->may_be_later;
	t->had_value = r->had_value;
	t->step = (struct step){
		.role = STEP_TRANSITION,
		.at = r->at,
		.before = r->before ? xstrdup(r->before) : NULL,
		.after = r->after ? xstrdup(r->after) : NULL,
		.thread = json_incref(json_object_get(position, "thread")),
		.location = show_location(&r->stack.location),
		.backtrace = show_frames(&r->stack),
	};
	strv_add_all(&t->notes, (const char *const *)r->notes.s);
}

static void drop_transition(struct transition *t)
{
	struct chain one = {0};

	if (t->found && !t->told)
		chain_add(&one, &t->step);
	chain_fini(&one);
	strv_fini(&t->notes);
	t->found = false;
}

static bool has_no_value(const struct transition *t)
{
	return !t->had_value;
}

/* text: the expression. The step goes to the chain, of which t->step is a view from then on. */
static void add_transition(struct explain *x, struct transition *t, const char *text)
{
	struct step *s = &t->step;
	const char *is = s->after ? s->after : "?";

	s->expression = xstrdup(text);
	s->words = has_no_value(t)
			   ? str_fmt("from this statement on `%s' is wrong: it is %s; before it had no value", text, is)
			   : str_fmt("this turned `%s': it was %s, became %s", text, s->before, is);
	chain_add(&x->chain, s);
	t->told = true;
	if (!has_no_value(t))
		strv_add_all(&x->notes, (const char *const *)t->notes.s);
	if (t->may_be_later && !has_no_value(t))
		explain_note(x, "`%s' may have turned again later: `fredctl reverse-watch --last' looks for that",
			     text);
}

/* Returns enum watch_outcome or -1; t is empty before. inside: it is false at both ends. The cursor stands nowhere
 * afterwards. */
static int watch_from(struct explain *x, const char *expr, const char *good, const char *bad, bool inside,
		      struct transition *t, struct err *e)
{
	struct watch_params p = {
		.expr = expr, .good = good, .bad = bad, .inside = inside, .exact = true, .later_ns = LATER_NS};
	struct watch_result r = {0};
	struct err ignored;
	int got;

	if (cursor_leave(&x->t, &ignored))
		log_warn("%s", ignored.text);
	target_kill(&x->nav.t);
	x->t.work += WATCH_MS;
	got = watch_process(x->rec, x->process, &p, x->g, x->ctx, &r, e);
	if (got == WATCH_FOUND)
		read_transition(t, &r);
	watch_result_fini(&r);
	return got;
}

static int watch(struct explain *x, const char *expr, const char *bad, bool inside, struct transition *t, struct err *e)
{
	return watch_from(x, expr, NULL, bad, inside, t, e);
}

/*
 * The expression is false at both ends. The transition may be in the segment of the bad end, of which the first search
 * has seen only the part up to the bad end, so that segment is searched up to the next event.
 */
static int watch_in_between(struct explain *x, const char *expr, const char *bad, struct transition *t, struct err *e)
{
	uint64_t until = bad ? strtoull(bad, NULL, 10) : 0;
	cleanup_free char *good = NULL, *next = NULL, *here = NULL, *after = NULL;
	int got = watch(x, expr, bad, true, t, e);

	if (got != WATCH_EQUAL || !bad)
		return got;
	here = str_fmt("%llu", (unsigned long long)until);
	if (until < nav_total(&x->nav))
		after = str_fmt("%llu", (unsigned long long)until + 1);
	got = watch_from(x, expr, here, after, true, t, e);
	if (got == WATCH_FOUND && t->step.at.event > until) {
		drop_transition(t);
		got = WATCH_EQUAL;
	}
	if (got == WATCH_EQUAL && condition_find_good(x, expr, bad, true, &good, &next, e))
		return -1;
	return good ? watch_from(x, expr, good, bad, false, t, e) : got;
}

/* Is a line of the program's known for it? What changes where none is, as before `main`, is no statement about an
 * object of the program's. */
static bool has_line(const struct transition *t)
{
	return json_is_string(json_object_get(t->step.location, "file"));
}

/*
 * While a function changes an object, a condition about the object may hold for a moment. So a transition counts only
 * if the condition also held before the outermost function's statement; else the transition that made it false before
 * is the one. expr: without variables of a frame.
 */
static int settle(struct explain *x, const char *expr, struct transition *t, struct err *e)
{
	bool earlier = t->found;

	for (unsigned n = 0; n < SETTLE_MAX && earlier; n++) {
		cleanup_free char *at = NULL, *good = NULL, *next = NULL;
		struct transition first = {0};
		int got;

		if (has_no_value(t) || !t->step.at.pc || !t->step.at.hits)
			return 0;
		at = str_fmt("%llu/0x%llx#%llu", (unsigned long long)t->step.at.event,
			     (unsigned long long)t->step.at.pc, (unsigned long long)t->step.at.hits);
		if (condition_find_good(x, expr, at, false, &good, &next, e))
			return -1;
		if (!good || !next)
			return 0;
		got = watch_from(x, expr, good, next, false, &first, e);
		earlier = got == WATCH_FOUND && !has_no_value(&first) && has_line(&first);
		if (earlier) {
			drop_transition(t);
			*t = first;
		} else {
			drop_transition(&first);
		}
		if (got < 0 && e->kind == ERR_CANCELLED)
			return -1;
	}
	return 0;
}

/* The statement that made the variable: its value may have come from elsewhere. */
static int follow_on(struct explain *x, const struct timeline_point *at, struct err *e)
{
	if (!at->pc || !at->hits)
		return 0;
	if (cursor_goto_point(&x->t, at, e))
		return -1;
	return flow_follow_write(x, x->t.in.seg.tid, e);
}

/*
 * Finds the function whose variable the expression is about: its frame has the first address in `frozen` that is on a
 * stack. An object on the stack exists as long as that function's call. "": there is none.
 */
static void find_owner(struct inspect *p, const char *frozen, char owner[128])
{
	*owner = '\0';
	for (const char *s = frozen; s && (s = strstr(s, "0x")) && !*owner; s += 2) {
		uint64_t addr = strtoull(s, NULL, 16);

		if (inspect_birth(p, addr, owner, 128) == 0)
			*owner = '\0';
	}
}

/* Was that function being executed at the transition? */
static bool is_alive(const struct transition *t, const char *owner)
{
	const json_t *frame;
	size_t i;

	json_array_foreach(t->step.backtrace, i, frame)
	{
		const char *name = json_string_value(json_object_get(frame, "function"));

		size_t len = name ? strlen(name) : 0;

		if (len && !strncmp(name, owner, len) && (!owner[len] || owner[len] == '('))
			return true;
	}
	return !*owner;
}

/*
 * Was a found before b? In one segment, b counts as the later one if it only says where a variable of the failing
 * statement begins. Returns as condition_is_before.
 */
static int is_before(struct explain *x, const struct transition *a, const struct transition *b, struct err *e)
{
	if (a->step.at.event == b->step.at.event && has_no_value(b))
		return 1;
	return condition_is_before(x, &a->step.at, &b->step.at, e);
}

/* Is the transition in the function that failed? Then it set one of the function's variables or arguments. */
static bool is_in_failing(const struct explain *x, const struct transition *t)
{
	return chain_same_place(x->chain.v[0].location, t->step.location, false);
}

/* The statement has set a variable: follows the value back as long as it was only copied. */
static int follow_variable(struct explain *x, const struct transition *t, const char *expr, struct err *e)
{
	size_t before = x->chain.n;

	x->end = END_OPEN;
	if (follow_on(x, &t->step.at, e) && !explain_may_go_on(x, e))
		return -1;
	if (chain_led_nowhere(x->end)) {
		explain_cut(x, before);
		x->end = END_OPEN;
	}
	explain_end(x, END_TRANSITION, "the statement turned `%s'", expr);
	return 0;
}

static int search(struct explain *x, const char *expr, const char *frozen, const char *owner, const char *bad,
		  struct err *e)
{
	struct transition own = {0}, object = {0};
	bool same; /* what changed the expression is no variable of the frame */
	bool numbers = frozen && condition_is_of_numbers(frozen);
	struct err why = {0};
	int r = watch(x, expr, bad, false, &own, e), of_object = 1;

	if (r < 0 && e->kind != ERR_INTERNAL && e->kind != ERR_USAGE)
		return -1;
	if (r)
		why = *e;
	if (frozen && !numbers)
		of_object = watch(x, frozen, bad, false, &object, e);
	if (object.found && has_no_value(&object)) {
		drop_transition(&object);
		of_object = WATCH_EQUAL;
	}
	/* it was false at the start as well, or had no value there */
	if (frozen && !numbers && of_object == WATCH_EQUAL)
		of_object = watch_in_between(x, frozen, bad, &object, e);
	if (of_object < 0 && e->kind == ERR_CANCELLED) {
		drop_transition(&own);
		return -1;
	}
	same = !frozen || (own.found && object.found && timeline_point_same(&own.step.at, &object.step.at));
	if (object.found && (has_no_value(&object) || !has_line(&object) || !is_alive(&object, owner)))
		drop_transition(&object);
	/* a variable of the failing function: it is known already that it got its first value there */
	if (object.found && own.found && has_no_value(&own) && *owner && is_in_failing(x, &object))
		drop_transition(&object);
	if (object.found && own.found) {
		int before = is_before(x, &object, &own, e);

		if (before < 0 && !explain_may_go_on(x, e)) {
			drop_transition(&own);
			drop_transition(&object);
			return -1;
		}
		if (before <= 0)
			drop_transition(&object);
	}
	if (!own.found && !object.found) {
		explain_note(x, "`%s': %s", expr, why.text);
		return 1;
	}
	if (settle(x, frozen ? frozen : expr, same ? &own : &object, e)) {
		drop_transition(&own);
		drop_transition(&object);
		return -1;
	}
	if (own.found)
		add_transition(x, &own, expr);
	if (object.found) {
		add_transition(x, &object, expr);
		explain_note(x, "with the variables of the failing statement as they were there, `%s' is `%s'", expr,
			     frozen);
	}
	explain_end(x, END_TRANSITION, "the statement turned `%s'", expr);
	x->found = true;
	if (!object.found && (has_no_value(&own) || is_in_failing(x, &own))) {
		size_t told = x->chain.n;

		x->allocated = false;
		r = follow_variable(x, &own, expr, e);
		if (!r && has_no_value(&own) &&
		    x->allocated) /* where the object was allocated says nothing about its contents */
			explain_cut(x, told);
		if (!r && has_no_value(&own) && x->chain.n == told)
			r = CONDITION_BEGINS;
	} else {
		r = 0;
	}
	drop_transition(&own);
	drop_transition(&object);
	return r;
}

/* Has the function of the chain's last statement set a variable of its own? That is no object. */
static bool is_own_variable(const struct explain *x, const struct transition *t, const char *owner)
{
	return (*owner || !x->ncompared) &&
	       chain_same_place(x->chain.v[x->chain.n - 1].location, t->step.location, false);
}

/* As search, for the expression in which the frame's variables are replaced by their values. */
static int search_objects(struct explain *x, const char *expr, const char *frozen, const char *owner, const char *bad,
			  struct err *e)
{
	struct transition t = {0};
	int got;

	if (condition_is_of_numbers(frozen))
		return 1;
	got = watch(x, frozen, bad, false, &t, e);
	if (got == WATCH_EQUAL) /* it was false at the start as well */
		got = watch_in_between(x, frozen, bad, &t, e);
	if (got < 0 && e->kind == ERR_CANCELLED)
		return -1;
	if (!t.found || has_no_value(&t) || !has_line(&t) || !is_alive(&t, owner) || is_own_variable(x, &t, owner)) {
		drop_transition(&t);
		return 1;
	}
	add_transition(x, &t, expr);
	drop_transition(&t);
	explain_end(x, END_TRANSITION, "the statement turned `%s'", expr);
	x->found = true;
	return 0;
}

/* "0", "0x0", "false", "0 '\\000'" */
static bool is_false(const struct transition *t)
{
	const char *after = t->step.after;
	char *end;

	return after && (str_starts(after, "false") || (strtoull(after, &end, 0) == 0 && end > after));
}

/* Is it a statement of the program's, executed while the function lasted whose variable the expression is about? */
static bool is_turn(const struct transition *t, const char *owner)
{
	return !has_no_value(t) && has_line(t) && is_false(t) && is_alive(t, owner);
}

int condition_turned(struct explain *x, const char *text, const char *frozen, const char *owner, const char *bad,
		     bool *unknown, struct err *e)
{
	cleanup_free char *good = NULL, *next = NULL;
	struct transition t = {0};
	int got;

	if (condition_is_of_numbers(frozen))
		return 1;
	got = watch(x, frozen, bad, false, &t, e);
	if (got == WATCH_EQUAL) { /* it was false at the start as well */
		got = watch_in_between(x, frozen, bad, &t, e);
		/* it was false at the start as well: other things were in the memory */
	} else if (got == WATCH_FOUND && !is_turn(&t, owner)) {
		drop_transition(&t);
		if (condition_find_good(x, frozen, bad, true, &good, &next, e))
			return -1;
		got = good ? watch_from(x, frozen, good, next ? next : bad, false, &t, e) : WATCH_EQUAL;
	}
	if (got < 0 && (e->kind == ERR_CANCELLED || gdb_dead(x->g)))
		return -1;
	if (got < 0 || got == WATCH_NO_SYMBOL) {
		log_info("`%s': %s", frozen, e->text);
		if (unknown)
			*unknown = true;
		return 1;
	}
	if (got || !is_turn(&t, owner)) {
		drop_transition(&t);
		return 1;
	}
	add_transition(x, &t, text);
	drop_transition(&t);
	return 0;
}

/*
 * The expression with calls of the object's own methods, which GDB does not find without `this`. malloc'd; NULL: there
 * are none.
 */
static char *with_this(struct inspect *p, int level, const char *expr)
{
	cleanup_free char *this = inspect_eval(p, level, "this");
	struct buf b = {0};
	bool any = false;

	for (const char *s = expr; this && *s;) {
		size_t n = 0;

		while (text_is_name(s[n]))
			n++;
		if (n && !isdigit((unsigned char)*s) && s[n] == '(' && !(s > expr && strchr(".>:", s[-1]))) {
			cleanup_free char *method = str_fmt("sizeof(this->%.*s)", (int)n, s),
					  *known = inspect_eval(p, level, method);

			if (known) {
				buf_add_str(&b, "this->");
				any = true;
			}
		}
		n = n ? n : 1;
		buf_add(&b, s, n);
		s += n;
	}
	if (any)
		return buf_steal(&b);
	buf_fini(&b);
	return NULL;
}

int condition_search(struct explain *x, struct inspect *p, int level, const char *given, enum condition_of of,
		     struct err *e)
{
	cleanup_free char *plain = condition_expand(p, level, given), *own = with_this(p, level, plain);
	const char *expr = own ? own : plain;
	struct compared_place place;
	struct unterminated text;
	char owner[128];
	int r;
	cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", expr), *value = inspect_eval(p, level, truth),
			  *frozen = NULL;
	cleanup_free char *bad = str_fmt("%llu/0x%llx#%llu", (unsigned long long)p->at.event,
					 (unsigned long long)p->at.pc, (unsigned long long)p->at.hits);

	/* what has no value for GDB, as a function of libc without its type, may have one for the search */
	if (value && !str_eq(value, "0")) {
		explain_note(x, "`%s' is not false at the failure: it is not searched for", expr);
		inspect_close(p);
		return 1;
	}
	frozen = condition_freeze(p, level, expr);
	if (str_eq(frozen, expr)) { /* nothing to replace */
		free(frozen);
		frozen = NULL;
	}
	find_owner(p, frozen, owner);
	failure_compared_place(p, level, expr, &place);
	failure_unterminated(p, level, expr, &text);
	flow_note_compared(p, level, expr);
	inspect_close(p);
	op_progress(x->ctx, 0.4, "searching for what turned the condition");
	r = of == CONDITION_OF_OBJECTS ? search_objects(x, expr, frozen ? frozen : expr, owner, bad, e)
				       : search(x, expr, frozen, owner, bad, e);
	if (!r)
		r = failure_set_later(x, &place, bad, e) || failure_tell_unterminated(x, &text, bad, e) ? -1 : 0;
	compared_place_fini(&place);
	free(text.name);
	return r;
}
