/* SPDX-License-Identifier: MIT */
/* call.c: see call.h. Taking an expression apart; making the calls is in call_run.c. */
#define LOG_DOMAIN "call"
#include "expr/call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "expr/altered.h"
#include "expr/call_still.h"
#include "expr/call_text.h"
#include "expr/compile.h"
#include "expr/expr_float.h"
#include "expr/libc_calls.h"
#include "expr/rewrite.h"
#include "expr/text.h"

#define REFUSED 1

struct scope {
	struct gdb *g;
	const struct expr_place *at;
	struct expr_locals *locals;
	bool references; /* an object may be a reference */
};

/* A refusal of GDB's ends the attempt; the end of GDB is an error. */
static int refused(int r, const struct scope *s)
{
	return r < 0 && gdb_dead(s->g) ? -1 : r ? REFUSED : 0;
}

/*
 * Does the function take floating-point arguments, which are passed in another way? value: as "{int (double, int)}
 * 0x401136 <f>".
 */
static bool takes_floating(const char *value)
{
	size_t n = strcspn(value, ")");
	const char *list = memchr(value, '(', n);

	return list && (memmem(list, n - (size_t)(list - value), "double", 6) ||
			memmem(list, n - (size_t)(list - value), "float", 5));
}

/* An array is passed as the address of its first element. */
static int decayed(const struct scope *s, const char *text, char **out, struct err *e)
{
	struct expr_type t;
	int r = refused(expr_type_of(s->g, text, s->at->tid, s->at->frame, &t, e), s);

	if (r)
		return r;
	*out = str_fmt(t.kind == EXPR_TYPE_AGGREGATE && str_ends(t.definition, "]") ? "&(%s)[0]" : "%s", text);
	expr_type_fini(&t);
	return 0;
}

static int compile(const struct scope *s, const char *text, uint8_t **code, size_t *len, struct err *e)
{
	cleanup_free char *what = NULL;
	struct expr_code x;
	int r = decayed(s, text, &what, e);

	if (r) /* without a type it is not an expression */
		return r;
	r = refused(expr_compile(s->g, what, s->at, &x, e), s);
	if (r == REFUSED)
		return expr_float_compile(s->g, what, s->at, code, len, s->locals, NULL, e);
	if (r)
		return r;
	r = expr_type_is_scalar(&x.type) ? 0 : REFUSED;
	if (x.locals.any)
		*s->locals = x.locals;
	if (!r) {
		*code = steal_ptr(&x.code);
		*len = x.len;
	}
	expr_code_fini(&x);
	return r;
}

/* "text" without escapes, as an argument. */
static char *plain_string(const char *arg)
{
	size_t n = strlen(arg);

	if (*arg != '"' || text_after_quote(arg) != arg + n || memchr(arg, '\\', n))
		return NULL;
	return xstrndup(arg + 1, n - 2);
}

static int add_arg(const struct scope *s, struct call *c, const char *from, size_t n, struct err *e)
{
	cleanup_free char *text = NULL;
	struct call_arg *a;

	while (n && isspace((unsigned char)*from))
		from++, n--;
	while (n && isspace((unsigned char)from[n - 1]))
		n--;
	if (c->nargs == CALL_ARGS || !n)
		return REFUSED;
	text = xstrndup(from, n);
	a = &c->arg[c->nargs++];
	a->string = plain_string(text);
	return a->string ? 0 : compile(s, text, &a->code, &a->len, e);
}

static int add_args(const struct scope *s, struct call *c, const char *text, size_t from, size_t to, struct err *e)
{
	const char *p = text + from, *arg = p, *end = text + to;
	int r = 0;

	if (p[strspn(p, " \t")] == ')')
		return 0;
	while (!r && p && p <= end) {
		if (*p == ',' || p == end) {
			r = add_arg(s, c, arg, (size_t)(p - arg), e);
			arg = ++p;
		} else {
			p = strchr("([\"'", *p) ? text_after_group(p) : p + 1;
		}
	}
	return r;
}

/*
 * How many arguments the function takes, from "{int (char *, int)} 0x401136 <f>" or "(int (C::*)(C * const, int))
 * 0x401136 <C::f>": from the list that ends before the address. 0 also if the value does not show it.
 */
static unsigned arguments_wanted(const char *value)
{
	const char *end = strstr(value, ") 0x"), *from;
	unsigned commas = 0;
	int depth = 0;

	if (!end)
		end = strstr(value, "} 0x");
	if (!end || end == value || end[-1] != ')')
		return 0;
	for (from = end - 1; from > value; from--) {
		depth += (*from == ')') - (*from == '(');
		commas += depth == 1 && *from == ',';
		if (!depth)
			break;
	}
	/* the list of a pointer to a function that is returned */
	if (depth || from[1] == ')' || str_starts(from, "(void)") || (from[-1] == ')' && *value == '{'))
		return 0;
	return commas + 1;
}

/* Where in a function's value the address begins; NULL: there is none. */
static const char *address_in(const char *value)
{
	const char *hex = strstr(value, ") 0x");

	if (!hex)
		hex = strstr(value, "} 0x");
	return hex ? hex + 2 : NULL;
}

/*
 * "{int (struct node *)} 0x401136 <list_len>" or "(int (C::*)(C * const)) 0x401136 <C::size()>". Of an indirect
 * function GDB may tell the target, for which it may have called the resolver; its own address is that of the symbol.
 */
static int address_of(const struct scope *s, const char *what, struct call *c, struct err *e)
{
	cleanup_free char *value = NULL;
	const char *hex;
	int r = refused(gdb_eval(s->g, what, s->at->tid, s->at->frame, 0, &value, e), s);

	if (r)
		return r;
	if (strstr(value, "gnu-indirect-function") && str_starts(what, "*&")) {
		c->indirect = true;
		return address_of(s, what + 1, c, e);
	}
	hex = c->indirect && str_starts(value, "0x") ? value : address_in(value);
	c->is_virtual = str_starts(value, "&virtual");
	if (c->is_virtual)
		return 0;
	if (!hex || strstr(value, "virtual") || strstr(value, "...") || takes_floating(value))
		return REFUSED;
	c->wanted = arguments_wanted(value);
	c->function = strtoull(hex, NULL, 16);
	return c->function ? 0 : REFUSED;
}

/* The length of the name of a class without what follows it: "Ledger" in "Ledger * const &". */
static size_t class_length(const char *name)
{
	static const char *const suffixes[] = {" ", "*", "&", " const", "*const", " volatile", "*volatile"};
	size_t n = strlen(name), before;

	do {
		before = n;
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
			size_t len = strlen(suffixes[i]);

			if (n > len && !memcmp(name + n - len, suffixes[i], len))
				n -= len;
		}
	} while (n < before);
	return n;
}

/* The class of the object of a member call, "Ledger" of "const Ledger *". */
static int class_of(const struct scope *s, const char *object, bool arrow, char **name, struct err *e)
{
	static const char *const prefixes[] = {"volatile ", "const ", "class ", "struct "};
	struct expr_type t;
	const char *from;
	int r = refused(expr_type_of(s->g, object, s->at->tid, s->at->frame, &t, e), s);

	if (r)
		return r;
	from = t.name;
	if ((t.is_reference && !s->references) || (t.kind == EXPR_TYPE_POINTER) != arrow)
		r = REFUSED;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str_starts(from, prefixes[i]))
			from += strlen(prefixes[i]);
	if (!r)
		*name = xstrndup(from, class_length(from));
	expr_type_fini(&t);
	return r;
}

/* What GDB shows with the function's address: "*&list_len", or "&Ledger::size" for a member. */
static int function_text(const struct scope *s, const char *text, const struct call_text *f, char **what, struct err *e)
{
	cleanup_free char *class = NULL;
	int r = 0;

	if (f->object < f->name) {
		cleanup_free char *object = xstrndup(text + f->object, f->object_end - f->object);

		r = class_of(s, object, f->arrow, &class, e);
	}
	if (!r)
		*what = str_fmt("%s%s%s%.*s", class ? "&" : "*&", class ? class : "", class ? "::" : "",
				(int)(f->name_end - f->name), text + f->name);
	return r;
}

/*
 * The place of a method in the object's table: "[2]: 0x40116e <geo::rect::area() const>", of the first table that is
 * listed. Not for one of several of that name.
 */
static int find_slot(const struct scope *s, const char *object, const char *name, struct call *c, struct err *e)
{
	cleanup_free char *cmd = str_fmt("info vtbl %s", object), *text = NULL, *method = str_fmt("::%s(", name);
	int r = refused(gdb_console_at(s->g, s->at->tid, s->at->frame, 0, cmd, &text, e), s);
	unsigned found = 0;
	char *second;

	if (r)
		return r;
	second = strstr(text, "\n\nvtable for ");
	if (second)
		*second = '\0';
	for (const char *p = text; (p = strstr(p, "\n[")); p++) {
		cleanup_free char *line = xstrndup(p + 1, strcspn(p + 1, "\n"));

		if (strstr(line, method)) {
			c->slot = (unsigned)strtoul(line + 1, NULL, 10);
			found++;
		}
	}
	return found == 1 ? 0 : REFUSED;
}

static int member(const struct scope *s, const char *text, const struct call_text *f, struct call *c, struct err *e)
{
	cleanup_free char *object = xstrndup(text + f->object, f->object_end - f->object);
	cleanup_free char *what = NULL, *self = NULL;
	int r = function_text(s, text, f, &what, e);

	if (!r)
		r = address_of(s, what, c, e);
	if (!r && c->is_virtual) {
		cleanup_free char *name = xstrndup(text + f->name, f->name_end - f->name);

		r = find_slot(s, object, name, c, e);
	}
	if (r)
		return r;
	self = f->arrow ? xstrdup(object) : str_fmt("&(%s)", object);
	return add_arg(s, c, self, strlen(self), e);
}

static int one_call(const struct scope *s, const char *text, const struct call_text *f, struct call *c, struct err *e)
{
	cleanup_free char *name = NULL;
	int r;

	c->name = xstrndup(text + f->name, f->name_end - f->name);
	if (f->object < f->name) {
		r = member(s, text, f, c, e);
	} else {
		r = function_text(s, text, f, &name, e);
		r = r ? r : address_of(s, name, c, e);
	}
	if (!r)
		r = add_args(s, c, text, f->open + 1, f->close, e);
	if (!r && c->nargs < c->wanted)
		return err_set(e, ERR_USAGE, "%.*s: too few arguments in a function call: %u, and it takes %u",
			       (int)(f->name_end - f->name), text + f->name, c->nargs, c->wanted);
	return r;
}

/* GDB 13 tells the type of a method also where it does not tell the type of a call: "long (geo::shape::*)(...)". */
static int type_of_method(const struct scope *s, const char *text, const struct call_text *f, struct expr_type *t,
			  struct err *e)
{
	cleanup_free char *method = NULL, *returned = NULL;
	int r = function_text(s, text, f, &method, e);

	if (r)
		return r;
	r = refused(expr_type_of(s->g, method, s->at->tid, s->at->frame, t, e), s);
	if (r)
		return r;
	returned = xstrndup(t->definition, strcspn(t->definition, "("));
	expr_type_fini(t);
	return *returned ? refused(expr_type_of(s->g, returned, s->at->tid, s->at->frame, t, e), s) : REFUSED;
}

/* The name of the type of number that the call returns. */
static int type_of_call(const struct scope *s, const char *text, const struct call_text *f, struct call *c, char **name,
			struct err *e)
{
	cleanup_free char *whole = xstrndup(text + f->object, f->close + 1 - f->object);
	const char *known = f->object == f->name ? expr_libc_type(text + f->name, f->name_end - f->name) : NULL;
	struct expr_type t;
	int r = refused(expr_type_of(s->g, whole, s->at->tid, s->at->frame, &t, e), s);

	if (r == REFUSED && known && strcmp(known, "double") && strcmp(known, "float")) {
		*name = xstrdup(known);
		return 0;
	}
	if (r == REFUSED && f->object < f->name)
		r = type_of_method(s, text, f, &t, e);
	if (r)
		return r;
	c->floating = !t.is_reference && expr_type_is_floating(&t);
	if ((expr_type_is_scalar(&t) || c->floating) && !strpbrk(t.name, "([{"))
		*name = xstrdup(t.name);
	else
		r = REFUSED;
	expr_type_fini(&t);
	return r;
}

/* The text with the call replaced by its result. */
static int replace(const struct scope *s, const char *text, const struct call_text *f, struct calls *c, char **out,
		   struct err *e)
{
	cleanup_free char *type = NULL;
	int r = type_of_call(s, text, f, &c->call[c->n], &type, e);

	if (!r)
		*out = str_fmt("%.*s(*(%s*)0x%llx)%s", (int)f->object, text, type, CALL_RESULTS + 16ull * c->n,
			       text + f->close + 1);
	return r;
}

/* What calls_check looks for. */
struct checking {
	struct scope s;
	struct err *e;
	bool bad; /* e says why */
};

static void refuse(struct checking *c, const char *refusal)
{
	err_set(c->e, ERR_USAGE, "%s", refusal);
	c->bad = true;
}

/*
 * Checks that the function at the address that GDB shows for `what` may be called; else sets c->bad. REFUSED: GDB shows
 * no address. -1: GDB failed.
 */
static int check_function(struct checking *c, const char *what, const char *name, int name_len)
{
	cleanup_free char *value = NULL, *shown = xstrndup(name, (size_t)name_len), *refusal = NULL;
	struct err why;
	const char *hex;
	int r = refused(gdb_eval(c->s.g, what, c->s.at->tid, c->s.at->frame, 0, &value, &why), &c->s);

	if (r == REFUSED)
		return REFUSED;
	hex = r ? NULL : address_in(value);
	if (hex)
		r = expr_altered(c->s.g, c->s.at, strtoull(hex, NULL, 16), shown, &refusal, &why);
	if (r < 0)
		*c->e = why;
	if (refusal)
		refuse(c, refusal);
	return r < 0 ? -1 : 0;
}

/*
 * Checks all functions that `functions` can mean; sets c->bad if one may not be called. REFUSED: there is none. -1: GDB
 * failed.
 */
static int check_named(struct checking *c, const char *functions, const char *name, int name_len)
{
	cleanup_free char *shown = xstrndup(name, (size_t)name_len), *refusal = NULL;
	struct err why;
	int r = expr_altered_named(c->s.g, c->s.at, functions, shown, &refusal, &why);

	if (r < 0)
		*c->e = why;
	if (refusal)
		refuse(c, refusal);
	return r < 0 ? -1 : r ? REFUSED : 0;
}

/*
 * object.member, a pointer to a function: GDB calls the function that it points to, whichever functions have the
 * member's name.
 */
static bool is_pointer_member(struct checking *c, const char *text, const struct call_text *f)
{
	cleanup_free char *member = NULL;
	struct expr_type t;
	struct err ignored;
	bool is;

	if (f->object >= f->object_end || f->object_end >= f->name)
		return false;
	member = xstrndup(text + f->object, f->name_end - f->object);
	if (expr_type_of(c->s.g, member, c->s.at->tid, c->s.at->frame, &t, &ignored))
		return false;
	is = t.kind == EXPR_TYPE_POINTER;
	expr_type_fini(&t);
	return is;
}

/*
 * As check_function, for a call. If GDB does not show which function is called (it is overloaded, or the object's class
 * is not known), all functions of this name are checked: those of the class, if it has any.
 */
static int check_call(struct checking *c, const char *text, struct call_text *f)
{
	cleanup_free char *what = NULL, *last = xstrndup(text + f->name, f->name_end - f->name);
	/* 'file.c'::f, Stack<int>::f: the scope is not in f */
	bool scoped = f->name && str_starts(last, "::") && strchr("'>", text[f->name - 1]);
	int r = !scoped && call_text_receiver(text, f) ? function_text(&c->s, text, f, &what, c->e) : REFUSED;

	if (!r)
		r = check_function(c, what, text + f->name, (int)(f->name_end - f->name));
	if (r == REFUSED && is_pointer_member(c, text, f))
		return 0;
	if (r == REFUSED && what && *what == '&')
		r = check_named(c, what + 1, last, (int)strlen(last));
	if (r == REFUSED)
		r = check_named(c, expr_last_part(last), last, (int)strlen(last));
	return r;
}

/*
 * Checks (f)(x) and (*f)(x): GDB shows f for the first brackets. A cast looks the same, but GDB shows nothing for it.
 */
static int check_bracketed(struct checking *c, const char *text)
{
	int r = 0;

	for (const char *p = text; !c->bad && r >= 0 && (p = strchr(p, '(')); p++) {
		size_t n = 1;

		while (text_is_name(p[n]) || (p[n] && strchr(" *&:", p[n])))
			n++;
		if (p[n] == ')' && p[n + 1 + strspn(p + n + 1, " \t")] == '(') {
			cleanup_free char *group = xstrndup(p, n + 1);

			r = check_function(c, group, p + 1, (int)n - 1);
		}
	}
	return r < 0 ? -1 : 0;
}

/* Checks an operator of a class for which GDB calls a function: object[index], object->, *object, object == index. */
static char *check_operator(void *ctx, const char *object, const char *op, bool arrow, const char *index)
{
	static const char *const operators[] = {"[", "->", "*", "==", "!="};
	struct checking *c = ctx;
	cleanup_free char *class = NULL, *what = NULL;
	const char *name;
	struct err ignored;

	for (size_t i = 0; !c->bad && i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strcmp(op, operators[i]) || class_of(&c->s, object, false, &class, &ignored))
			continue;
		what = str_fmt("&%s::operator%s%s", class, op, *op == '[' ? "]" : "");
		name = strstr(what, "operator");
		if (check_function(c, what, name, (int)strlen(name)) == REFUSED)
			check_named(c, what + 1, name, (int)strlen(name));
		break;
	}
	return NULL;
}

int calls_check(struct gdb *g, const char *text, const struct expr_place *at, struct err *e)
{
	static const struct rewrite_ops operators = {.member = check_operator};
	struct checking c = {.s = {.g = g, .at = at, .references = true}, .e = e};
	cleanup_free char *same = NULL;
	struct call_text f;

	if (expr_altered_begin(g, at, e))
		return -1;
	for (size_t i = 0; !c.bad && call_text_next(text, &i, &f);)
		if (check_call(&c, text, &f) < 0)
			return -1;
	if (check_bracketed(&c, text))
		return -1;
	if (!c.bad)
		rewrite_expr(text, &operators, &c, &same);
	return c.bad || gdb_check(g, e) ? -1 : 0;
}

int calls_init(struct calls *c, struct gdb *g, const char *text, const struct expr_place *at, char **outer,
	       struct err *e)
{
	const struct scope s = {.g = g, .at = at, .locals = &c->locals};
	cleanup_free char *cur = xstrdup(text);
	struct call_text f;
	int r = 0;

	memset(c, 0, sizeof(*c));
	while (!r && call_text_last(cur, &f)) {
		char *next = NULL;

		r = c->n == CALL_MAX ? REFUSED : one_call(&s, cur, &f, &c->call[c->n], e);
		if (!r)
			r = replace(&s, cur, &f, c, &next, e);
		c->n++;
		if (!r) {
			free(cur);
			cur = next;
		}
	}
	if (!r)
		r = c->n ? compile(&s, cur, &c->code, &c->len, e) : REFUSED;
	if (r) {
		log_info("%s: calls are left to GDB, at: %s: %s", text, cur, e->text);
		calls_fini(c);
		return r;
	}
	c->still = call_still_new();
	*outer = steal_ptr(&cur);
	return 0;
}

void calls_fini(struct calls *c)
{
	for (unsigned i = 0; i < CALL_MAX; i++) {
		free(c->call[i].name);
		for (unsigned k = 0; k < CALL_ARGS; k++) {
			free(c->call[i].arg[k].code);
			free(c->call[i].arg[k].string);
		}
	}
	free(c->code);
	call_still_free(c->still);
	memset(c, 0, sizeof(*c));
}
