/* SPDX-License-Identifier: MIT */
/* exited.c: programs that ended with an exit status that means a failure. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/condition.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "expr/text.h"
#include "flow/flow.h"
#include "timetravel/cursor_int.h"

/* The expression that a return statement returns, malloc'd; NULL: it is no return statement, or returns a constant. */
static char *returned(const struct inspect *p, bool constant)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	const char *s = text ? strstr(text, "return ") : NULL, *end = s ? strchr(s, ';') : NULL;
	char *expr;

	if (!end)
		return NULL;
	s += strlen("return ");
	if (constant) /* one of two constants, chosen by a condition */
		end = memchr(s, '?', (size_t)(end - s));
	if (!end)
		return NULL;
	expr = xstrndup(s, (size_t)(end - s));
	if (strspn(expr, "0123456789 ()-") == strlen(expr)) {
		free(expr);
		return NULL;
	}
	return expr;
}

static const char *const exiting[] = {"exit", "_exit", "_Exit", "quick_exit", NULL};
static const char *const exit_alone[] = {"exit", "quick_exit", NULL};

/* Is there an assignment at s, of any kind? */
static bool assigns_at(const char *s)
{
	if ((s[0] == '+' || s[0] == '-') && s[1] == s[0])
		return true;
	return s[0] == '=' && s[1] != '=' && !strchr("=!", s[-1]) && (!strchr("<>", s[-1]) || s[-2] == s[-1]);
}

/*
 * Does the line set a variable, without anything in it that returns or ends the program? A check that passes the status
 * on at once, in a return or as an argument, is the failure itself. Conditions in front of the statement set nothing.
 */
static bool only_sets(const char *line)
{
	cleanup_free char *text = str_fmt("  %s", line); /* two blanks: assigns_at looks back */
	bool sets = false;

	condition_strip(text);
	for (const char *s = text + 2; *s; s++) {
		const char *end = s;

		sets |= assigns_at(s);
		while (text_is_name(*end))
			end++;
		if (end == s)
			continue;
		if (!strncmp(s, "return", 6) && end == s + 6)
			return false;
		for (size_t k = 0; exiting[k]; k++)
			if (!strncmp(s, exiting[k], strlen(exiting[k])) && end == s + strlen(exiting[k]))
				return false;
		s = end;
		s += strspn(s, " ");
		if (*s == '(') {
			end = inspect_closing(s);
			if (!end)
				return false;
			s = end;
		}
		s--;
	}
	return sets;
}

/*
 * The chain ends at the statement `last`, of which nothing is known but the condition around it: adds that as a step.
 * 0; 1: there is none, or its branch was not reached; -1.
 */
static int tell_condition(struct explain *x, const struct timeline_point *last, struct err *e)
{
	struct condition c = {0};
	struct inspect p = {0};
	const char *text;
	bool sets;
	int r;

	if (cursor_goto_point(&x->t, last, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	text = json_string_value(json_object_get(p.location, "text"));
	sets = text && only_sets(text);
	condition_at(&p, p.user, condition_around, &c);
	inspect_close(&p);
	r = c.text && !c.chooses && !c.lost ? because_to_branch(x, &c, e) : 1;
	if (!r)
		r = inspect_open(&p, x, e);
	if (!r)
		inspect_step(&p, STEP_TEST, c.text, NULL, NULL, "this found that `%s' was %s", c.text,
			     c.negated ? "false" : "true");
	inspect_close(&p);
	/* the check that ends the program with that status is the failure itself */
	if (!r)
		explain_end(x, sets ? END_DECIDED : END_UNKNOWN, "why that was so is not known");
	condition_fini(&c);
	return r;
}

/* A statement made the status: finds what turned its condition, or the value that it returns. */
static int why_status(struct explain *x, struct err *e)
{
	struct timeline_point last = x->chain.v[x->chain.n - 1].at;
	enum chain_end end = x->end;
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL, *expr = NULL, *not = NULL;
	struct inspect p = {0};
	int r = 1;

	if ((end != END_CONSTANT && end != END_COMPUTED) || !last.pc)
		return 0;
	if (cursor_goto_point(&x->t, &last, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	x->end = END_OPEN;
	expr = returned(&p, end == END_CONSTANT);
	if (expr) {
		cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", expr), *value = inspect_eval(&p, p.user, truth);

		not = value && str_eq(value, "0") ? xstrdup(expr) : str_fmt("!(%s)", expr);
		r = condition_search(x, &p, p.user, not, CONDITION_OF_OBJECTS, e);
	} else {
		r = because_of_condition(x, &p, p.user, false, CONDITION_OF_OBJECTS, e);
	}
	if (r > 0)
		r = tell_condition(x, &last, e);
	if (r < 0)
		return -1;
	if (r)
		explain_end_instead(x, end, "%s", text);
	return 0;
}

/* Goes back to the call by which the program, or main's caller, ended it. As failure_to_entry. */
static int to_exit(struct explain *x, struct err *e)
{
	int got = failure_to_entry(x, exiting, e);
	bool inner;
	struct inspect p = {0};

	if (got)
		return got;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inner = inspect_find(&p, exit_alone) > 0;
	inspect_close(&p);
	return inner ? failure_to_entry(x, exit_alone, e) : 0;
}

int failure_exit(struct explain *x, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 4};
	struct user_regs_struct r;
	struct inspect p = {0};
	int got = to_exit(x, e);

	failure_set_kind(x, "exit", "the program exited with status %d", x->ending.value);
	x->failure.code = x->ending.value;
	if (got < 0 || failure_is_here(x, e) || explain_regs(x, x->tid, &r, e) || failure_tell(x, &p, e)) {
		if (got >= 0)
			inspect_close(&p);
		return -1;
	}
	inspect_close(&p);
	if (got || (int)(r.rdi & 0xff) != x->ending.value) {
		explain_end(x, END_UNKNOWN, "the call that ended the program is not found");
		return 0;
	}
	x->found = true;
	if (flow_follow(x, x->tid, &l, false, e))
		return -1;
	return why_status(x, e);
}
