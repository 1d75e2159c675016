/* SPDX-License-Identifier: MIT */
/* suggest.c: see suggest.h. One more replay, from left to right. */
#include "watch/suggest.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "target/advice.h"

#define LOOKS 400u
#define LOOKS_BY_GDB 16u /* each costs some 0.1 s */

static int look(struct nav *n, struct gdb *g, struct expr *x, enum search_value end, enum search_value on_error,
		struct suggestion *s, struct err *e)
{
	struct expr_value v;

	if (expr_eval(x, g, &n->t, &v, e))
		return -1;
	s->looked++;
	if ((v.truth == SEARCH_ERROR ? on_error : v.truth) == end)
		return 0;
	if (!s->found) {
		s->first = nav_at(n);
		s->at_first = v;
	}
	s->found = true;
	s->last = nav_at(n);
	s->at_last = v;
	return 0;
}

int suggest_look(struct nav *n, struct gdb *g, struct expr *x, uint64_t from, uint64_t to, enum search_value end,
		 enum search_value on_error, struct suggestion *s, struct err *e)
{
	uint64_t count = x->compiled || x->direct ? LOOKS : LOOKS_BY_GDB;

	memset(s, 0, sizeof(*s));
	if (to - from - 1 < count)
		count = to - from - 1;
	n->what = "searching for a position where it differs";
	for (uint64_t i = 1; i <= count; i++)
		if (nav_goto(n, from + (uint64_t)((double)(to - from) * (double)i / (double)(count + 1)), e) ||
		    look(n, g, x, end, on_error, s, e))
			return -1;
	return 0;
}

/* Adds the option of a parameter; it has the same name. */
static void add_option(struct buf *b, const char *key, const json_t *value)
{
	cleanup_free char *name = xstrdup(key);

	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	if (json_is_string(value) || json_is_integer(value) || json_is_true(value))
		buf_addf(b, " --%s", name);
	if (json_is_string(value))
		advice_add_word(b, json_string_value(value));
	else if (json_is_integer(value))
		buf_addf(b, " %lld", (long long)json_integer_value(value));
}

char *suggest_command(const json_t *asked, const struct rec *rec, uint32_t process, const char *end, uint64_t at)
{
	const char *expr = json_string_value(json_object_get(asked, "expr")), *key;
	struct buf b = {0};
	json_t *value;

	buf_add_str(&b, "fredctl reverse-watch");
	advice_add_word(&b, rec->dir);
	json_object_foreach((json_t *)asked, key, value) if (!str_eq(key, "rec") && !str_eq(key, "expr") &&
							     !str_eq(key, "process") && !str_eq(key, end))
		add_option(&b, key, value);
	if (rec->nimages > 1)
		buf_addf(&b, " --process %u", process);
	buf_addf(&b, " --%s %llu", end, (unsigned long long)at);
	if (expr && *expr == '-')
		buf_add_str(&b, " --"); /* the expression begins with `-`, but is no option */
	advice_add_word(&b, expr ? expr : "");
	return buf_steal(&b);
}
