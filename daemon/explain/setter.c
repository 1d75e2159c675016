/* SPDX-License-Identifier: MIT */
/*
 * setter.c: the chain ended at a statement that sets a member of what its function was given to a constant, as in a
 * function that resets or releases an object. Such a function does what it is for: if several statements call it, the
 * chain goes on to the one that did. Or the chain ended at what turned a condition, but a later statement set the value
 * that was checked.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "explain/failure.h"
#include "expr/text.h"
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

/* The arguments of the first call of the function in a line, after its bracket. NULL: the line does not call it. */
static const char *arguments_in(const char *line, const char *function)
{
	cleanup_free char *call = str_fmt("%s(", function);

	for (const char *s = line; s && (s = strstr(s, call)); s += strlen(call))
		if (s == line || !text_is_name(s[-1]))
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
	while (text_is_name(s[n]))
		n++;
	return n && s[n] && strchr("),", s[n]) ? xstrndup(s, n) : NULL;
}

/* The level of the frame whose statement called a function that only set a member; p->user: there is none. */
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

char *failure_next_argument(const char **s)
{
	const char *from = *s + strspn(*s, " ");
	size_t n = strcspn(from, ",()\"'");

	if (!from[n] || !strchr(",)", from[n]))
		return NULL;
	*s = from + n;
	return xstrndup(from, n);
}

/*
 * Is one of the arguments of the only call of the function in a line a constant of that value, and no other argument?
 * GDB does not list the arguments of an inlined function in their order.
 */
static bool passes(struct inspect *p, int caller, const char *line, const char *function, uint64_t value)
{
	const char *s = arguments_in(line, function);
	bool is = false;

	if (!s || arguments_in(s, function))
		return false;
	for (;; s++) {
		cleanup_free char *arg = failure_next_argument(&s);
		uint64_t v = 0;

		if (!arg || !*arg)
			return false;
		if (!str_eq(arg, "NULL") && !str_eq(arg, "nullptr") && !inspect_number(p, caller, arg, &v))
			return false;
		if (v == value && (is || !is_constant(arg)))
			return false;
		is |= v == value;
		if (*s == ')')
			return is;
	}
}

/* Is the constant that was set one that the caller passed to the function, which is inlined into it? set: the value. */
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

/* ---- what was set after the condition had turned ---- */

/* The operator of a text that is one comparison, `a == b' or `a != b'; NULL: it is not. */
static const char *compared_at(const char *text, size_t len)
{
	const char *at = NULL;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		if (strchr("\"'?,|&", text[i]))
			return NULL;
		depth += strchr("([", text[i]) ? 1 : strchr(")]", text[i]) ? -1 : 0;
		if (depth || i + 1 >= len || text[i + 1] != '=' || !strchr("=!", text[i]))
			continue;
		if (at)
			return NULL;
		at = text + i++;
	}
	return at;
}

/* Removes a negation of all of the text, and brackets around it. */
static void strip(const char **text, size_t *len)
{
	for (;;) {
		const char *open, *end;

		while (*len && strchr(" \t\n", **text))
			++*text, --*len;
		while (*len && strchr(" \t\n", (*text)[*len - 1]))
			--*len;
		open = *text + str_starts(*text, "!(");
		end = *open == '(' ? inspect_closing(open) : NULL;
		if (!end || end != *text + *len)
			return;
		*text = open + 1;
		*len = (size_t)(end - 1 - *text);
	}
}

/*
 * Reads `name`. false: it is not a variable of at most 8 bytes, or `other`, with which it is compared, is a variable.
 */
static bool read_place(struct inspect *p, int level, const char *name, const char *other, struct compared_place *out)
{
	cleanup_free char *address = str_fmt("&(%s)", name), *size = str_fmt("sizeof(%s)", name),
			  *none = str_fmt("&(%s)", other);
	uint64_t len, v;

	if (strpbrk(name, "=+(") || !inspect_number(p, level, address, &out->addr) ||
	    !inspect_number(p, level, size, &len) || !len || len > sizeof(v) || inspect_number(p, level, none, &v) ||
	    !inspect_number(p, level, other, &v))
		return false;
	out->len = (unsigned)len;
	out->name = xstrdup(name);
	out->value = inspect_eval(p, level, name);
	out->frozen = condition_freeze(p, level, name);
	return true;
}

void failure_compared_place(struct inspect *p, int level, const char *expr, struct compared_place *out)
{
	size_t len = strlen(expr);
	const char *at;

	*out = (struct compared_place){0};
	strip(&expr, &len);
	at = compared_at(expr, len);
	if (at) {
		cleanup_free char *left = xstrndup(expr, (size_t)(at - expr)),
				  *right = xstrndup(at + 2, len - (size_t)(at + 2 - expr));

		for (size_t n = strlen(left); n && isspace((unsigned char)left[n - 1]);)
			left[--n] = '\0';
		if (!read_place(p, level, left, right, out))
			read_place(p, level, right + strspn(right, " "), left, out);
	}
}

void compared_place_fini(struct compared_place *c)
{
	free(c->name);
	free(c->value);
	free(c->frozen);
}

/* The program stands in front of a write. Does the instruction set all of the place to a constant? */
static bool sets_constant(struct explain *x, const struct compared_place *c)
{
	struct insn_loc l = {.where = INSN_IN_MEM, .addr = c->addr, .len = c->len};
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct err ignored;
	struct insn i;

	if (explain_regs(x, x->t.in.seg.tid, &r, &ignored) || visibility_is_shim(&x->t.visibility, r.rip) ||
	    explain_insn(x, &r, code, &i, &ignored))
		return false;
	insn_origin(&i, &l, &o);
	return o.effect == INSN_SETS && o.what.addr == l.addr && o.what.len == l.len;
}

/*
 * Goes from `bad` to the last write of the place, if that set it to a constant, and is after `turned`. 0; 1: not so;
 * -1.
 */
static int to_later_set(struct explain *x, const struct compared_place *c, const char *bad,
			const struct timeline_point *turned, struct err *e)
{
	struct timeline_point at;
	bool ignored;
	int r;

	if (nav_resolve(&x->nav, bad, &at, e) || cursor_goto_point(&x->t, &at, e))
		return -1;
	r = flow_last_write(x, c->addr, c->len, 0, &ignored, e);
	if (r)
		return r < 0 ? -1 : 1;
	if (!sets_constant(x, c) || cursor_where(&x->t, &at, e))
		return 1;
	r = condition_is_before(x, turned, &at, e);
	if (r <= 0)
		return r < 0 ? -1 : 1;
	return cursor_goto_point(&x->t, &at, e) ? -1 : 0;
}

int failure_set_later(struct explain *x, const struct compared_place *c, const char *bad, struct err *e)
{
	const struct step *last = &x->chain.v[x->chain.n - 1];
	struct timeline_point turned = last->at;
	cleanup_free char *was = NULL;
	struct inspect p = {0};
	int r;

	if (!c->addr || !c->value || x->end != END_TRANSITION || last->role != STEP_TRANSITION || !turned.pc)
		return 0;
	r = to_later_set(x, c, bad, &turned, e);
	if (!r)
		r = inspect_open(&p, x, e);
	if (!r)
		was = inspect_eval(&p, 0, c->frozen);
	if (was && !str_eq(was, c->value) && json_is_string(json_object_get(p.location, "file"))) {
		inspect_step(&p, STEP_WRITE, c->name, was, c->value, "later this wrote %s: it was %s, became %s",
			     c->name, was, c->value);
		explain_end_instead(x, END_CONSTANT, "the statement set %s to what it was when it was checked",
				    c->name);
	}
	inspect_close(&p);
	return r < 0 && !explain_may_go_on(x, e) ? -1 : 0;
}

/* ---- unterminated strings ---- */

#define TEXT_MOST 4096u

/* Is the name an array of characters in which no byte is 0? */
static bool is_unterminated(struct inspect *p, int level, const char *name, struct unterminated *out)
{
	cleanup_free char *address = str_fmt("&(%s)", name), *first = str_fmt("&(%s)[0]", name),
			  *size = str_fmt("sizeof(%s)", name), *one = str_fmt("sizeof((%s)[0])", name);
	uint64_t begin, len, unit;
	char text[TEXT_MOST];
	struct err ignored;

	if (!inspect_number(p, level, address, &out->addr) || !inspect_number(p, level, first, &begin) ||
	    begin != out->addr || !inspect_number(p, level, size, &len) || !inspect_number(p, level, one, &unit) ||
	    unit != 1 || !len || len > sizeof(text) || trace_read(p->copy, begin, text, len, &ignored) ||
	    memchr(text, 0, len))
		return false;
	out->len = (unsigned)len;
	out->name = xstrdup(name);
	return true;
}

void failure_unterminated(struct inspect *p, int level, const char *expr, struct unterminated *out)
{
	*out = (struct unterminated){0};
	for (const char *s = expr; (s = strstr(s, "str")) && !out->name; s++) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");

		if ((s > expr && (isalnum((unsigned char)s[-1]) || strchr("_.>", s[-1]))) || s[n] != '(' ||
		    str_starts(s, "strn"))
			continue;
		for (const char *at = s + n + 1; !out->name; at++) {
			cleanup_free char *name = failure_next_argument(&at);

			if (!name)
				break;
			is_unterminated(p, level, name, out);
			if (*at == ')')
				break;
		}
	}
}

int failure_tell_unterminated(struct explain *x, const struct unterminated *t, const char *bad, struct err *e)
{
	const struct step *last = &x->chain.v[x->chain.n - 1];
	struct timeline_point at;
	struct inspect p = {0};
	bool ignored;
	int r;

	if (!t->name || x->end != END_TRANSITION || last->role != STEP_TRANSITION)
		return 0;
	if (nav_resolve(&x->nav, bad, &at, e) || cursor_goto_point(&x->t, &at, e))
		return -1;
	r = flow_last_write(x, t->addr + t->len - 1, 1, 0, &ignored, e);
	if (!r)
		r = inspect_open(&p, x, e);
	if (!r && json_is_string(json_object_get(p.location, "file")) &&
	    !chain_same_place(p.location, last->location, true)) {
		inspect_step(&p, STEP_WRITE, t->name, NULL, NULL,
			     "this wrote the last of the %u bytes of %s, which is not a terminating null", t->len,
			     t->name);
		explain_end_instead(x, END_COMPUTED,
				    "the string in %s is not terminated: what is behind it is read, too", t->name);
	}
	inspect_close(&p);
	return r < 0 && !explain_may_go_on(x, e) ? -1 : 0;
}
