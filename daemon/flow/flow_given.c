/* SPDX-License-Identifier: MIT */
/*
 * flow_given.c: a function freed a block, or cleared a variable, that its caller gave it, as a function that releases
 * an object does. Such a function does what it is for; the mistake may be in the statement that called it. So the chain
 * goes on, outwards, to the first function that passed what did not come from its own arguments.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "chain/condition.h"
#include "expr/text.h"
#include "flow/flow_int.h"
#include "replay/show.h"
#include "replay/stack.h"
#include "rlog/heap.h"
#include "timetravel/cursor_int.h"

#define NUMBERS 32u
#define NAMES 16u
#define WHOLES 2u /* objects that the block may have been a part of */

/* What the function of a frame was given: the values of its arguments, and what they point to. */
struct given {
	uint64_t number[NUMBERS];
	unsigned n;
	char name[NAMES][64]; /* of its arguments */
	unsigned names;
};

static void add_number(struct given *g, uint64_t v)
{
	if (v && g->n < NUMBERS)
		g->number[g->n++] = v;
}

static bool has_number(const struct given *g, uint64_t v)
{
	for (unsigned k = 0; k < g->n; k++)
		if (g->number[k] == v)
			return true;
	return false;
}

static bool has_name(const struct given *g, const char *s, size_t len)
{
	for (unsigned k = 0; k < g->names; k++)
		if (strlen(g->name[k]) == len && !strncmp(g->name[k], s, len))
			return true;
	return false;
}

/* The name in front of the `=` at s, back to `from`. */
static void add_name(struct given *g, const char *from, const char *s)
{
	const char *at = s;

	while (at > from && text_is_name(at[-1]))
		at--;
	if (s > at && (at == from || at[-1] != '@') && g->names < NAMES)
		snprintf(g->name[g->names++], sizeof(g->name[0]), "%.*s", (int)(s - at), at);
}

/* *v: what the argument points to, where that is a pointer itself. */
static bool pointee_of(struct inspect *p, int level, const char *name, uint64_t *v)
{
	cleanup_free char *pointee = str_fmt("*(%s)", name), *cmd = str_fmt("ptype %s", pointee), *type = NULL;
	struct err ignored;
	size_t n;

	if (gdb_console_at(p->x->g, 0, level, 0, cmd, &type, &ignored) || !type)
		return false;
	for (n = strlen(type); n && strchr(" \r\n", type[n - 1]); n--)
		;
	return n && type[n - 1] == '*' && inspect_number(p, level, pointee, v);
}

static void read_given(struct inspect *p, int level, struct given *g)
{
	const char *args = json_string_value(json_object_get(inspect_row(p, (size_t)level), "args"));
	unsigned names;
	uint64_t v;

	*g = (struct given){0};
	for (const char *s = args; s && (s = strchr(s, '=')); s++) { /* "n=1, p=p@entry=0x1234 <name>" */
		add_name(g, args, s);
		add_number(g, strtoull(s + 1, NULL, 0));
	}
	names = g->names;
	for (unsigned k = 0; k < names; k++)
		if (pointee_of(p, level, g->name[k], &v))
			add_number(g, v);
}

/* Forgets the arguments through which the function was not given `what`. */
static void keep_only(struct inspect *p, int level, struct given *g, uint64_t what)
{
	unsigned names = g->names;

	g->n = g->names = 0;
	for (unsigned k = 0; k < names; k++) {
		uint64_t v, to = 0;

		if (!inspect_number(p, level, g->name[k], &v) ||
		    (v != what && !pointee_of(p, level, g->name[k], &to)) || (v != what && to != what))
			continue;
		add_number(g, v);
		add_number(g, to);
		memmove(g->name[g->names++], g->name[k], sizeof(g->name[0]));
	}
}

/* Was it given the address of a variable that has an address? */
static bool was_given_variable(struct inspect *p, int level, const struct given *g, uint64_t variable)
{
	for (unsigned k = 0; k < g->names; k++) {
		uint64_t at, v;

		if (inspect_number(p, level, g->name[k], &at) && at == variable && pointee_of(p, level, g->name[k], &v))
			return true;
	}
	return false;
}

/* Is it the name of a constant, without lower-case letters? */
static bool is_constant(const char *s, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (islower((unsigned char)s[k]))
			return false;
	return true;
}

static bool is_known_word(const char *s, size_t n)
{
	static const char *const words[] = {"sizeof", "nullptr", "true", "false", "this"};

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (strlen(words[k]) == n && !strncmp(words[k], s, n))
			return true;
	return false;
}

/* Does the condition depend only on what the function was given? */
static bool is_of_given(struct inspect *p, int level, const char *text, const struct given *g)
{
	const char *before = "";

	for (const char *s = text; *s;) {
		size_t n = 0;

		while (text_is_name(s[n]))
			n++;
		if (!n) {
			before = *s == ' ' ? before : s;
			s++;
			continue;
		}
		if (!isdigit((unsigned char)*s) && *before != '.' &&
		    !(*before == '>' && before > text && before[-1] == '-') && !has_name(g, s, n) &&
		    !is_constant(s, n) && !is_known_word(s, n)) {
			cleanup_free char *name = xstrndup(s, n);
			uint64_t v;

			if (s[n + strspn(s + n, " ")] == '(' || !inspect_number(p, level, name, &v) ||
			    !has_number(g, v))
				return false;
		}
		before = "";
		s += n;
	}
	return true;
}

/* Does it depend only on what the function was given that the statement of the frame was reached? */
static bool is_always_reached(struct inspect *p, int level, const struct given *g)
{
	struct condition c;
	bool is;

	condition_at(p, level, condition_around, &c);
	is = c.text ? is_of_given(p, level, c.text, g) : !c.lost;
	condition_fini(&c);
	return is;
}

bool flow_has_argument(struct inspect *p, int level, const char *name)
{
	const char *args = json_string_value(json_object_get(inspect_row(p, (size_t)level), "args"));
	struct given g = {0};

	for (const char *s = args; s && (s = strchr(s, '=')); s++)
		add_name(&g, args, s);
	return has_name(&g, name, strlen(name));
}

bool flow_does_to(struct inspect *p, int level, const char *name)
{
	struct given g;

	read_given(p, level, &g);
	return has_name(&g, name, strlen(name)) && is_always_reached(p, level, &g);
}

static bool call_at(struct inspect *p, int level, struct flow_call *call)
{
	struct gdb_regs in, out;
	struct err ignored;

	*call = (struct flow_call){.pc = p->frames[level].addr, .line = p->frames[level + 1].line};
	if (gdb_frame_regs(p->x->g, 0, level, &in, &ignored) || !(in.valid & 1u << GDB_REG_SP) ||
	    gdb_frame_regs(p->x->g, 0, level + 1, &out, &ignored) || !(out.valid & 1u << GDB_REG_SP))
		return false;
	call->cfa = out.value[GDB_REG_SP];
	/* one that was left by a jump to what it called last has its own address */
	call->inlined = call->cfa == in.value[GDB_REG_SP] && call->pc == p->frames[level + 1].addr;
	snprintf(call->function, sizeof(call->function), "%s", inspect_function(p, (size_t)level));
	return true;
}

void flow_calls(struct inspect *p, struct flow_stack *out)
{
	out->n = 0;
	for (int level = p->user; level + 1 < (int)p->nframes && out->n < FLOW_CALLS; level++)
		if (call_at(p, level, &out->calls[out->n]))
			out->n++;
}

/*
 * Nothing on the stack tells apart two calls of an inlined function; two statements of it that are reached in one call
 * come from the same line of the caller.
 */
static bool is_same_call(const struct flow_call *a, const struct flow_call *b)
{
	if (!str_eq(a->function, b->function) || a->inlined != b->inlined)
		return false;
	return a->inlined ? a->line == b->line && a->pc != b->pc : a->cfa && a->cfa == b->cfa;
}

bool flow_has_call(const struct flow_stack *calls, const struct flow_call *call)
{
	for (unsigned k = 0; calls && k < calls->n; k++)
		if (is_same_call(&calls->calls[k], call))
			return true;
	return false;
}

static bool has_function(const struct flow_stack *calls, const char *function)
{
	for (unsigned k = 0; calls && k < calls->n; k++)
		if (str_eq(calls->calls[k].function, function))
			return true;
	return false;
}

/*
 * GDB cannot tell the function's arguments: takes the registers at its entry. p is closed meanwhile. 0; -1: the state
 * was not found again, and p is closed.
 */
static int add_registers(struct inspect *p, const struct flow_call *call, struct given *g, struct err *e)
{
	const struct timeline_point at = p->at;
	struct explain *x = p->x;
	struct user_regs_struct r;
	struct err ignored;
	bool unused;
	int got;

	if (call->inlined || !at.pc || !at.hits || x->no_code)
		return 0;
	inspect_close(p);
	got = flow_last_write(x, call->cfa - 8, 8, 0, &unused, &ignored);
	if (got)
		explain_reopen(x);
	if (!got && flow_is_call(x) && !explain_regs(x, x->t.in.seg.tid, &r, &ignored)) {
		const uint64_t args[] = {r.rdi, r.rsi, r.rdx, r.rcx, r.r8, r.r9};

		for (unsigned k = 0; k < sizeof(args) / sizeof(args[0]) && k < g->names; k++)
			add_number(g, args[k]);
	}
	return cursor_goto_point(&x->t, &at, e) || inspect_open(p, x, e) ? -1 : 0;
}

/* lives of the block of a part that are examined, between the part's free and that of the whole */
#define LIVES 8u

/*
 * The program stands at a free in a call with that place on the stack. Did the same call already last at `at`, where
 * the block of `part` was freed? The cursor may stand anywhere afterwards.
 */
static bool lasted_since(struct explain *x, const struct flow_call *call, uint64_t part,
			 const struct timeline_point *at)
{
	const struct insn_loc l[] = {
		{.where = INSN_IN_MEM, .addr = part - sizeof(struct heap_block), .len = 8},
		{.where = INSN_IN_MEM, .addr = call->cfa - 8, .len = 8},
	};
	struct timeline_point here;
	struct err ignored;
	unsigned which;

	for (unsigned n = 0; n < LIVES; n++) {
		int got = flow_last_write_of(x, l, 2, &which, &ignored);

		if (got)
			explain_reopen(x);
		if (got || which || cursor_where(&x->t, &here, &ignored))
			return false;
		if (timeline_point_same(&here, at))
			return true;
	}
	return false;
}

/*
 * Was the block with that header last freed in this call? Then it may be the whole object of which `part` was freed. p
 * is closed meanwhile. 1; 0; -1: the state was not found again, and p is closed.
 */
static int was_freed_in(struct inspect *p, const struct flow_call *call, uint64_t header, uint64_t part, struct err *e)
{
	const struct timeline_point at = p->at;
	struct explain *x = p->x;
	struct flow_stack calls = {.n = 0};
	struct inspect q = {0};
	struct err ignored;
	bool unused;
	int got;

	inspect_close(p);
	if (explain_goto_failure(x, e))
		return -1;
	got = flow_last_write(x, header, 8, 0, &unused, &ignored);
	if (got)
		explain_reopen(x);
	if (!got && !inspect_open(&q, x, &ignored) && flow_is_one_of(inspect_function(&q, 0), flow_freeing))
		flow_calls(&q, &calls);
	inspect_close(&q);
	got = flow_has_call(&calls, call) && lasted_since(x, call, part, &at);
	if (cursor_goto_point(&x->t, &at, e) || inspect_open(p, x, e))
		return -1;
	return got;
}

/* Was the function given the object of which the block was a part, and did it free all of that? 1; 0; -1. */
static int was_given_whole(struct inspect *p, const struct flow_call *call, const struct given *g, uint64_t part,
			   struct err *e)
{
	unsigned asked = 0;

	if (call->inlined || !p->at.pc || !p->at.hits || p->x->no_code)
		return 0;
	for (unsigned k = 0; k < g->n && asked < WHOLES; k++) {
		struct object o;
		int got;

		if (!inspect_block(p->copy, g->number[k], &o) || o.lo != g->number[k])
			continue;
		asked++;
		got = was_freed_in(p, call, o.header, part, e);
		if (got)
			return got;
	}
	return 0;
}

/* Are there arguments of the function that GDB does not know? */
static bool is_unknown(const struct inspect *p, int level)
{
	const char *args = json_string_value(json_object_get(inspect_row(p, (size_t)level), "args"));

	return args && strstr(args, "<optimized out>");
}

/* Was the function given `what`? 1; 0; -1. only: g keeps only the arguments through which it was. */
static int was_given(struct inspect *p, int level, uint64_t what, bool block, const struct flow_call *call, bool only,
		     struct given *g, struct err *e)
{
	bool was;

	read_given(p, level, g);
	was = block ? has_number(g, what) : was_given_variable(p, level, g, what);
	if (!was && block && is_unknown(p, level)) {
		if (add_registers(p, call, g, e))
			return -1;
		was = has_number(g, what);
	}
	if (was && only)
		keep_only(p, level, g, what);
	return was || !block ? was : was_given_whole(p, call, g, what, e);
}

static bool begins_part(const char *text, const char *s)
{
	return s == text || !isalpha((unsigned char)s[-1]) ||
	       (isupper((unsigned char)*s) && islower((unsigned char)s[-1]));
}

/*
 * Does a part of a name in the text begin with the word, in any case, as in "obj_put", "doPut" and "released"? One
 * letter may precede a long word, as in "xfree"; a short word must be the whole part: neither "puts" nor "compute"
 * contains "put".
 */
static bool has_part(const char *text, const char *word)
{
	size_t n = strlen(word);
	bool is_short = n < 4;

	for (const char *s = text; (s = strcasestr(s, word)); s++)
		if ((begins_part(text, s) || (!is_short && begins_part(text, s - 1))) &&
		    !(is_short && islower((unsigned char)s[n])))
			return true;
	return false;
}

/*
 * Does the statement of a frame name the function that it calls, or say that something ends there? A statement that
 * calls a function through a pointer, such as an event's handler, does not ask for a free.
 */
static bool says_so(struct inspect *p, int level, const char *function)
{
	static const char *const verbs[] = {"free",  "delete", "destroy", "release", "close", "clean", "unref", "dtor",
					    "clear", "remove", "put",	  "drop",    "fini",  "reset", "kill",	"exit"};
	size_t n = strcspn(function, "(<");
	const char *begin = function;
	cleanup_free char *name = NULL;
	json_t *location = show_location_of(&p->frames[level]);
	const char *text = json_string_value(json_object_get(location, "text"));
	bool says = !text || strchr(function, '~') || strstr(function, "operator");

	for (const char *s = function; s + 1 < function + n; s++)
		if (s[0] == ':' && s[1] == ':')
			begin = s + 2;
	name = xstrndup(begin, n - (size_t)(begin - function));
	says |= text && strstr(text, name);
	for (size_t k = 0; !says && k < sizeof(verbs) / sizeof(verbs[0]); k++)
		says = has_part(text, verbs[k]);
	json_decref(location);
	return says;
}

/*
 * *out: the statement in the caller of this frame, if the frame's function did only what it was given to do; -1: it did
 * more.
 */
static int giver_of(struct inspect *p, int level, bool first, uint64_t what, bool block,
		    const struct flow_stack *second, int *out, struct err *e)
{
	size_t own = stack_own_frame(p->frames, p->nframes, (size_t)level + 1);
	struct flow_call here;
	struct given g;
	int got;

	*out = -1;
	if (own >= p->nframes || !p->frames[level].fullname || path_is_system(p->frames[level].fullname) ||
	    !p->frames[own].fullname || !call_at(p, level, &here) || flow_has_call(second, &here) ||
	    (block && !says_so(p, (int)own, inspect_function(p, own - 1))))
		return 0;
	got = was_given(p, level, what, block, &here, !block || !first, &g, e);
	if (!got && here.inlined && is_unknown(p, level)) /* if it frees twice, it does not matter for which argument */
		got = has_function(second, here.function);
	if (got > 0 && (has_function(second, here.function) || is_always_reached(p, level, &g)))
		*out = (int)own;
	return got < 0 ? -1 : 0;
}

/* As giver_of, from the frame that p is about outwards: *level; *inner: the call that this level has made. */
static int giver_level(struct inspect *p, uint64_t what, bool block, const struct flow_stack *second, int *level,
		       int *inner, struct err *e)
{
	int first = p->user, out;

	*level = *inner = first;
	for (;;) {
		if (giver_of(p, *level, *level == first, what, block, second, &out, e))
			return -1;
		if (out < 0)
			return 0;
		*inner = *level;
		*level = out;
	}
}

int flow_giver_level(struct inspect *p, uint64_t what, int *level, struct err *e)
{
	int inner;

	return giver_level(p, what, true, NULL, level, &inner, e);
}

int flow_tell_giver(struct inspect *p, uint64_t what, bool block, const struct flow_stack *second, struct err *e)
{
	int first = p->user, level, inner;

	if (giver_level(p, what, block, second, &level, &inner, e))
		return -1;
	if (level == first)
		return 0;
	inspect_look_at(p, level);
	inspect_step(p, STEP_CALL, NULL, NULL, NULL, "this %s %s, which %s",
		     level == inner + 1 ? "called" : "led to a call of", inspect_function(p, (size_t)inner),
		     block ? "freed the block" : "set to 0 what it was given the address of");
	return 1;
}

/* Does the frame's statement pass that argument on, unchanged? */
static bool passes_on(const struct inspect *p, int level, const char *name)
{
	json_t *location = show_location_of(&p->frames[level]);
	const char *text = json_string_value(json_object_get(location, "text"));
	cleanup_free char *first = str_fmt("(%s", name);
	bool passes = false;

	for (; text && (text = strstr(text, first)) && !passes; text++)
		passes = text[strlen(first)] == ')' || text[strlen(first)] == ',';
	json_decref(location);
	return passes;
}

/* Is `what` the only argument of the function? 1; 0; -1: the state was not found again, and p is closed. */
static int was_given_only(struct inspect *p, int level, uint64_t what, struct err *e)
{
	struct flow_call call;
	struct given g;

	if (chain_has_argument(inspect_row(p, (size_t)level), what, true))
		return 1;
	read_given(p, level, &g);
	if (g.names != 1 || !is_unknown(p, level) || !call_at(p, level, &call))
		return 0;
	if (call.inlined)
		return passes_on(p, level, g.name[0]);
	return add_registers(p, &call, &g, e) ? -1 : has_number(&g, what);
}

int flow_look_past(struct inspect *p, uint64_t what, struct err *e)
{
	int first = p->user, level = first;

	while (what && level + 1 < (int)p->nframes && p->frames[level + 1].fullname) {
		int was = was_given_only(p, level, what, e);

		if (was < 0)
			return -1;
		if (!was)
			break;
		level++;
	}
	if (level > first || p->user != first)
		inspect_look_at(p, level);
	return 0;
}
