/* SPDX-License-Identifier: MIT */
/* exited.c: programs that ended with a status that tells of a failure. */
#define LOG_DOMAIN "explain"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "timetravel/cursor_int.h"
#include "explain/condition.h"
#include "explain/failure.h"
#include "explain/flow.h"
#include "explain/place.h"

/* What a return statement returns, malloc'd; NULL: it is none, or a constant. */
static char *returned(const struct place *p, bool constant)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	const char *s = text ? strstr(text, "return ") : NULL, *end = s ? strchr(s, ';') : NULL;
	char *expr;

	if (!end)
		return NULL;
	s += strlen("return ");
	if (constant) /* one of two, by a condition */
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

/* The status was made by a statement: its condition, or what it returns, turned somewhere. */
static int why_status(struct explain *x, struct err *e)
{
	const json_t *last = json_array_get(x->chain, json_array_size(x->chain) - 1), *pos = json_object_get(last, "position");
	const char *kind = x->end_kind ? x->end_kind : "";
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL, *expr = NULL, *not = NULL;
	uint64_t pc;
	struct place p = {0};
	int r = 1;

	if (!(str_eq(kind, "constant") || str_eq(kind, "computed")) ||
	    str_u64(json_string_value(json_object_get(pos, "pc")), 0, 1, UINT64_MAX, &pc))
		return 0;
	if (cursor_goto_pc(&x->t, (uint64_t)json_integer_value(json_object_get(pos, "event")), pc,
			   (uint64_t)json_integer_value(json_object_get(pos, "hits")), e) ||
	    place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	x->end_kind = NULL;
	expr = returned(&p, str_eq(kind, "constant"));
	if (expr) {
		cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", expr), *value = place_eval(&p, p.user, truth);

		not = value && str_eq(value, "0") ? xstrdup(expr) : str_fmt("!(%s)", expr);
		r = condition_search(x, &p, p.user, not, CONDITION_OF_OBJECTS, e);
	} else {
		r = because_of_condition(x, &p, p.user, false, CONDITION_OF_OBJECTS, e);
	}
	if (r < 0)
		return -1;
	if (r)
		explain_end_instead(x, str_eq(kind, "constant") ? "constant" : "computed", "%s", text);
	return 0;
}

static const char *const exiting[] = {"exit", "_exit", "_Exit", "quick_exit", NULL};
static const char *const exit_alone[] = {"exit", "quick_exit", NULL};

/* To the call by which the program, or main's caller, ended it. As to_entry. */
static int to_exit(struct explain *x, struct err *e)
{
	int got = failure_to_entry(x, exiting, e);
	bool inner;
	struct place p = {0};

	if (got)
		return got;
	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	inner = place_find(&p, exit_alone) > 0;
	place_close(&p);
	return inner ? failure_to_entry(x, exit_alone, e) : 0;
}

int failure_exit(struct explain *x, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 4};
	struct user_regs_struct r;
	struct place p = {0};
	int got = to_exit(x, e);

	failure_set_kind(x, "exit", "the program exited with status %d", x->ending.value);
	json_object_set_new(x->failure, "code", json_integer(x->ending.value));
	if (got < 0 || failure_is_here(x, e) || explain_regs(x, x->tid, &r, e) || failure_tell(x, &p, e)) {
		if (got >= 0)
			place_close(&p);
		return -1;
	}
	place_close(&p);
	if (got || (int)(r.rdi & 0xff) != x->ending.value) {
		explain_end(x, "unknown", "the call that ended the program is not found");
		return 0;
	}
	x->found = true;
	if (flow_follow(x, x->tid, &l, false, e))
		return -1;
	return why_status(x, e);
}
