/* SPDX-License-Identifier: MIT */
/*
 * setter.c: the chain ended at a statement that sets a member of what its function was given to a constant, as one that
 * resets an object, or gives it back. Such a function does what it is for. If several statements call it, the one that
 * did is the end of the chain.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "replay/show.h"
#include "replay/stack.h"
#include "timetravel/cursor_int.h"

/* Is there a choice where the function is called from? */
static bool is_called_by_several(struct inspect *p, int level, int caller)
{
	const char *function = inspect_function(p, (size_t)level);
	unsigned n = condition_calls(p, caller, function);

	if (!str_eq(p->frames[level].fullname, p->frames[caller].fullname))
		n += condition_calls(p, level, function);
	return n > 1;
}

/* The arguments of the first call of the function in a line: behind its bracket. NULL: it is not called there. */
static const char *arguments_in(const char *line, const char *function)
{
	cleanup_free char *call = str_fmt("%s(", function);

	for (const char *s = line; s && (s = strstr(s, call)); s += strlen(call))
		if (s == line || !(isalnum((unsigned char)s[-1]) || s[-1] == '_'))
			return s + strlen(call);
	return NULL;
}

/* The argument of a call in a line, if it is a name: malloc'd, else NULL. */
static char *name_passed(const char *line, const char *function)
{
	const char *s = arguments_in(line, function);
	size_t n = 0;

	if (!s)
		return NULL;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n && s[n] && strchr("),", s[n]) ? xstrndup(s, n) : NULL;
}

/* The level of the frame whose statement called what only set a member; p->user: there is none. */
static int setter_level(struct inspect *p)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	cleanup_free char *name = text ? condition_member_set(text) : NULL;
	int level = p->user;

	while (name) {
		size_t outer = stack_own_frame(p->frames, p->nframes, (size_t)level + 1);
		json_t *location;

		if (outer >= p->nframes || (int)outer != level + 1 || !p->frames[outer].fullname ||
		    path_is_system(p->frames[outer].fullname) || !flow_does_to(p, level, name) ||
		    !is_called_by_several(p, level, (int)outer))
			break;
		location = show_location_of(&p->frames[outer]);
		free(name);
		name = name_passed(json_string_value(json_object_get(location, "text")),
				   inspect_function(p, (size_t)level));
		json_decref(location);
		level = (int)outer;
	}
	return level;
}

/* A number, or a name in capital letters? */
static bool is_constant(const char *s)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char *end;

	if (str_eq(s, "nullptr") || str_eq(s, "true") || str_eq(s, "false"))
		return true;
	if (!isupper((unsigned char)*s)) {
		strtoll(s, &end, 0);
		return end > s && !end[strspn(end, "uUlL")];
	}
	return !s[strspn(s, capitals)];
}

/*
 * Is one of the arguments of the only call of the function in a line a constant of that value, and has none of the
 * others that value? GDB does not have the arguments of a function that the compiler has put into its caller in their
 * order.
 */
static bool passes(struct inspect *p, int caller, const char *line, const char *function, uint64_t value)
{
	const char *s = arguments_in(line, function);
	bool is = false;

	if (!s || arguments_in(s, function))
		return false;
	for (;; s++) {
		cleanup_free char *arg = NULL;
		uint64_t v = 0;
		size_t n;

		s += strspn(s, " ");
		n = strcspn(s, ",()\"'");
		if (!n || !s[n] || !strchr(",)", s[n]))
			return false;
		arg = xstrndup(s, n);
		if (!str_eq(arg, "NULL") && !str_eq(arg, "nullptr") && !inspect_number(p, caller, arg, &v))
			return false;
		if (v == value && (is || !is_constant(arg)))
			return false;
		is |= v == value;
		s += n;
		if (*s == ')')
			return is;
	}
}

/* Is the constant that was set one that the caller passed, into which the compiler has put the function? set: the value
 * that it has set. */
static bool was_passed(struct inspect *p, const char *set)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	cleanup_free char *name = text ? condition_name_assigned(text) : NULL;
	size_t own = (size_t)p->user;
	json_t *location;
	uint64_t value;
	char *end;
	bool is;

	if (!name || !set || !stack_is_inlined(p->frames, p->nframes, own) || !p->frames[own + 1].fullname ||
	    !flow_has_argument(p, p->user, name))
		return false;
	value = strtoull(set, &end, 0);
	if (end == set || (*end && *end != ' '))
		return false;
	location = show_location_of(&p->frames[own + 1]);
	is = passes(p, (int)own + 1, json_string_value(json_object_get(location, "text")), inspect_function(p, own),
		    value);
	json_decref(location);
	return is;
}

int failure_setter(struct explain *x, struct err *e)
{
	const struct step *last = x->chain.n > 1 ? &x->chain.v[x->chain.n - 1] : NULL;
	struct timeline_point at;
	struct inspect p = {0};
	int level;

	if (!last || !last->at.pc || !last->at.hits || x->chain.n >= x->depth ||
	    !((x->end == END_TRANSITION && last->role == STEP_TRANSITION) ||
	      (x->end == END_CONSTANT && (last->role == STEP_COPY || last->role == STEP_WRITE))))
		return 0;
	at = last->at;
	if (cursor_goto_point(&x->t, &at, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return explain_may_go_on(x, e) ? 0 : -1;
	}
	level = setter_level(&p);
	if (x->end == END_CONSTANT && was_passed(&p, last->after)) {
		level = p.user + 1;
		inspect_look_at(&p, level);
		inspect_step(&p, STEP_CALL, NULL, NULL, NULL, "the constant was passed here, as an argument of %s",
			     inspect_function(&p, (size_t)level - 1));
		explain_end_instead(x, END_CONSTANT, "the statement passed a constant to %s",
				    inspect_function(&p, (size_t)level - 1));
	} else if (level != p.user) {
		int inner = level - 1;

		inspect_look_at(&p, level);
		inspect_step(&p, STEP_CALL, NULL, NULL, NULL, "this called %s, which set it",
			     inspect_function(&p, (size_t)inner));
		explain_end_instead(x, x->end, "the statement called %s, which set it to a constant",
				    inspect_function(&p, (size_t)inner));
	}
	inspect_close(&p);
	return 0;
}
