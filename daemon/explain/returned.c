/* SPDX-License-Identifier: MIT */
/*
 * returned.c: a function of the program's, such as one that looks something up or checks something, returned a null
 * pointer or 0. The value itself is then a constant, or the end of a list, and explains nothing. So the function is
 * called again, with the same arguments, in earlier states: the statement since which it finds nothing is the cause.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

#define ARGUMENTS_MOST 6u /* in registers (System V ABI) */

/*
 * Does the argument's value mean the same object in an earlier state? An object on a stack exists as long as the call
 * of the function whose variable it is: *owner, "" if it is none. false: the address may have been another object's.
 */
static bool is_lasting(struct inspect *p, uint64_t v, char owner[128])
{
	struct explain *x = p->x;
	struct mapping m;
	char function[128] = "";

	if (!maps_find(cursor_memory(&x->t), v, &m) || !(shim_is_stack(v) || str_eq(m.path, "[stack]")))
		return true;
	if (!inspect_birth(p, v, function, sizeof(function)) || (*owner && !str_eq(owner, function)))
		return false;
	memcpy(owner, function, sizeof(function));
	return true;
}

static bool is_register_type(const char *type)
{
	static const char *const others[] = {"struct ", "union ", "class ", "float", "double", "...", "&", "std::"};

	if (strchr(type, '*') && !strchr(type, '&'))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(type, others[i]))
			return false;
	return true;
}

#define TEXT_MOST 128u

/* Reads the text at addr, as far as there is one. */
static void read_text(struct explain *x, uint64_t addr, char text[TEXT_MOST])
{
	struct err ignored;
	size_t n = 0;

	memset(text, 0, TEXT_MOST);
	while (n + 1 < TEXT_MOST && !trace_read(cursor_memory(&x->t), addr + n, &text[n], 1, &ignored) &&
	       text[n] >= ' ' && text[n] <= '~')
		n++;
	if (text[n])
		memset(text, 0, TEXT_MOST); /* it is longer, or goes on with bytes that are no text */
}

/*
 * An argument that is text, such as a name that is looked up, is passed as a literal: in another state, another text
 * may be there.
 */
static bool add_text(struct inspect *p, struct buf *b, const char *type, uint64_t v)
{
	char text[TEXT_MOST];

	if (!strstr(type, "const char *") || strchr(strchr(type, '*') + 1, '*'))
		return false;
	read_text(p->x, v, text);
	if (!*text || strpbrk(text, "\"\\"))
		return false;
	buf_addf(b, "\"%s\"", text);
	return true;
}

/* Adds one argument, of the type in [from, to), as its register has it. false: it is not passed in a register. */
static bool add_argument(struct inspect *p, struct buf *b, const char *from, const char *to, uint64_t v,
			 char owner[128])
{
	cleanup_free char *type = xstrndup(from, (size_t)(to - from));

	if (add_text(p, b, type, v))
		return true;
	if (!is_register_type(type) || (strchr(type, '*') && !is_lasting(p, v, owner)))
		return false;
	buf_addf(b, "(%s) 0x%llx", type, (unsigned long long)v);
	return true;
}

/* Is the result a number or an address? */
static bool returns_register(const char *type, const char *open)
{
	cleanup_free char *what = xstrndup(type, (size_t)(open - type));

	return !str_starts(what, "void (") && is_register_type(what);
}

/* "char **" or "const char **", and nothing more? */
static bool is_cursor_type(const char *from, const char *to)
{
	static const char text[] = "char **";

	from += strspn(from, " ");
	if (str_starts(from, "const "))
		from += strlen("const ");
	return (size_t)(to - from) == strlen(text) && str_starts(from, text);
}

/* A bit for each argument. */
struct kinds {
	unsigned numbers; /* those that are no literal */
	unsigned cursors; /* of these the addresses of pointers into text */
};

/* "struct entry *(const char *, int)": the call with the arguments in the registers; malloc'd. NULL: not understood. */
static char *call_text(struct inspect *p, const char *type, const struct user_regs_struct *r, char owner[128],
		       struct kinds *kinds)
{
	const char *function = inspect_function(p, 0);
	const uint64_t args[ARGUMENTS_MOST] = {r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9};
	const char *open = strrchr(type, '('), *s = open ? open + 1 : NULL, *end;
	struct buf b = {0};

	if (!s || strchr(function, ':') || strpbrk(type, "[{") || !returns_register(type, open) ||
	    memchr(type, '(', (size_t)(open - type)))
		return NULL;
	end = strchr(s, ')');
	if (!end || end[strspn(end, ")")])
		return NULL;
	buf_addf(&b, "%s(", function);
	for (unsigned n = 0; s < end && strncmp(s, "void)", 5); n++) {
		const char *comma = memchr(s, ',', (size_t)(end - s)), *to = comma ? comma : end;
		size_t quote;

		if (n)
			buf_add_str(&b, ", ");
		quote = b.len;
		if (n == ARGUMENTS_MOST || !add_argument(p, &b, s, to, args[n], owner)) {
			buf_fini(&b);
			return NULL;
		}
		if (buf_str(&b)[quote] != '"')
			kinds->numbers |= 1u << n;
		if (is_cursor_type(s, to))
			kinds->cursors |= 1u << n;
		s = comma ? comma + 1 : end;
	}
	buf_add_str(&b, ")");
	return buf_steal(&b);
}

/*
 * p is at the function's first instruction. Is it a clone, to which the compiler may pass other arguments than the
 * source says? Its symbol has a suffix then, as in "make.isra.0".
 */
static bool is_clone(struct inspect *p)
{
	cleanup_free char *command = str_fmt("info symbol 0x%llx", (unsigned long long)p->frames[0].addr), *text = NULL;
	struct err ignored;

	return gdb_console(p->x->g, command, &text, &ignored) || !text || memchr(text, '.', strcspn(text, " \n"));
}

/*
 * Goes to the call of the function that returned the value. *text, *kinds: the call, as of call_text, *bad: its
 * position. 0; 1: that is not known; -1.
 */
static int to_call(struct explain *x, char **text, char owner[128], struct kinds *kinds, char **bad, struct err *e)
{
	cleanup_free char *type = NULL, *command = NULL;
	struct timeline_point at;
	struct user_regs_struct r;
	struct inspect p = {0};
	struct stop stop;
	struct err ignored;
	bool unused;
	int got = cursor_goto_point(&x->t, &x->returned.at, e) ? -1 : 0;

	if (!got)
		got = flow_last_write(x, x->returned.slot, 8, 0, &unused, e);
	explain_reopen(x);
	if (got)
		return got;
	if (cursor_step(&x->t, x->t.in.seg.tid, &stop, e) || explain_regs(x, x->t.in.seg.tid, &r, e) ||
	    cursor_where(&x->t, &at, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	/* at the function's first instruction */
	command = str_fmt("whatis %s", inspect_function(&p, 0));
	if (r.rsp != x->returned.slot || is_clone(&p) || gdb_console(x->g, command, &type, &ignored) ||
	    !str_starts(type, "type = "))
		got = 1;
	if (!got) {
		type[strcspn(type, "\n")] = '\0';
		*text = call_text(&p, type + strlen("type = "), &r, owner, kinds);
		*bad = str_fmt("%llu/0x%llx#%llu", (unsigned long long)at.event, (unsigned long long)at.pc,
			       (unsigned long long)at.hits);
		got = *text && at.pc && at.hits ? 0 : 1;
	}
	inspect_close(&p);
	return got;
}

/* Is a step of the chain, after the first `from`, in the line of the last one? */
static bool is_told(const struct chain *c, size_t from)
{
	for (size_t i = from; i + 1 < c->n; i++)
		if (chain_same_place(c->v[i].location, c->v[c->n - 1].location, true))
			return true;
	return false;
}

#define TEXT_NEAR 4096u

/* Do both point into one text, from which the program reads? */
static bool is_moved(uint64_t now, uint64_t then)
{
	return now && then && now != then && (now > then ? now - then : then - now) < TEXT_NEAR;
}

/*
 * An argument that is no literal is text in memory, such as a name that is looked up. At the position `at`, was another
 * text there, or was a pointer into text, whose address the function is given, at another place of the text? Then the
 * same call asked for something else. kinds: as of call_text. The cursor may stand anywhere afterwards.
 */
static bool asked_for_another(struct explain *x, const struct kinds *kinds, const char *bad,
			      const struct timeline_point *at)
{
	struct timeline_point call;
	struct err ignored;
	char now[ARGUMENTS_MOST][TEXT_MOST] = {0}, then[TEXT_MOST];
	uint64_t cursor[ARGUMENTS_MOST] = {0};
	struct user_regs_struct r;
	bool another = false;

	if (!at->pc || !at->hits || nav_resolve(&x->nav, bad, &call, &ignored) ||
	    cursor_goto_point(&x->t, &call, &ignored) || explain_regs(x, x->t.in.seg.tid, &r, &ignored))
		return false;
	{
		const uint64_t args[ARGUMENTS_MOST] = {r.rdi, r.rsi, r.rdx, r.rcx, r.r8, r.r9};

		for (unsigned k = 0; k < ARGUMENTS_MOST; k++)
			read_text(x, args[k], now[k]);
		for (unsigned k = 0; k < ARGUMENTS_MOST; k++)
			cursor[k] = kinds->cursors >> k & 1 ? failure_word(x, args[k]) : 0;
		if (cursor_goto_point(&x->t, at, &ignored))
			return false;
		for (unsigned k = 0; k < ARGUMENTS_MOST; k++) {
			read_text(x, args[k], then);
			another |= *now[k] && (kinds->numbers >> k & 1) && strcmp(now[k], then);
			another |= is_moved(cursor[k], cursor[k] ? failure_word(x, args[k]) : 0);
		}
	}
	return another;
}

/*
 * Was the null pointer that the function returned stored in an object, from which it was read later? Then that
 * statement is the end of the chain: it did not check the pointer.
 */
static bool was_kept(struct explain *x, size_t keep)
{
	if (!x->kept || x->kept > keep)
		return false;
	explain_cut(x, x->kept);
	return true;
}

/*
 * The function never returned anything else, and its result was not stored in an object: the end of the chain is the
 * statement that took the result of the call, or accessed what it points to.
 */
static void tell_unchecked(struct explain *x, size_t keep, const char *text)
{
	explain_cut(x, keep);
	explain_end_instead(x, END_COMPUTED, "the statement used what `%s' returned, which is 0", text);
}

/* Does the inlined function of one step end in the statement of the other? */
static bool is_called_by(const struct step *inner, const struct step *outer)
{
	const json_t *own = json_object_get(inner->location, "function");
	const json_t *function = json_object_get(outer->location, "function");
	const json_t *line = json_object_get(outer->location, "line");

	if (!own || json_equal(own, function))
		return false;
	for (size_t k = 1; k < json_array_size(inner->backtrace); k++) {
		const json_t *row = json_array_get(inner->backtrace, k);

		if (json_equal(json_object_get(row, "function"), function) &&
		    json_equal(json_object_get(row, "line"), line))
			return true;
	}
	return false;
}

/* Does the statement return what says that nothing was found, or that it failed: a pointer to nothing, or a negative
 * constant? */
static bool says_no(const struct step *s)
{
	const char *text = json_string_value(json_object_get(s->location, "text"));

	text = text ? strstr(text, "return") : NULL;
	if (!text)
		return false;
	text += strlen("return");
	text += strspn(text, " (");
	return str_starts(text, "NULL") || str_starts(text, "nullptr") || (*text == '-' && strcspn(text, ";)+*/(") > 1);
}

/*
 * The chain ended at a constant that a function returned to say that it found nothing, or at the null pointer that an
 * inlined function left in a variable. The end becomes the statement that took it without a check.
 */
static void end_where_taken(struct explain *x)
{
	const struct step *last = x->chain.n > 1 ? &x->chain.v[x->chain.n - 1] : NULL, *taker;
	cleanup_free char *function = NULL, *value = NULL;
	size_t k = x->chain.n;

	if (!last || x->end != END_CONSTANT || last->role != STEP_WRITE)
		return;
	for (k -= 2;
	     k && x->chain.v[k].role == STEP_LOAD && chain_same_place(x->chain.v[k].location, last->location, false);
	     k--)
		;
	taker = &x->chain.v[k];
	if ((k && taker->role != STEP_COPY) || !is_called_by(last, taker) || !(x->kept == k + 1 || says_no(last)))
		return;
	function = xstrdup(json_string_value(json_object_get(last->location, "function")));
	value = xstrdup(last->after ? last->after : "0");
	explain_cut(x, k + 1);
	explain_end_instead(x, END_COMPUTED, "the statement %s what `%s' returned, which is %s", k ? "kept" : "used",
			    function, value);
}

/* The steps and notes of a search that has found nothing. */
static void forget_search(struct explain *x, size_t steps, size_t notes)
{
	explain_cut(x, steps);
	while (x->notes.n > notes) {
		free(x->notes.s[--x->notes.n]);
		x->notes.s[x->notes.n] = NULL;
	}
}

int failure_returned(struct explain *x, struct err *e)
{
	cleanup_free char *text = NULL, *bad = NULL, *found = NULL, *was = x->end_text ? xstrdup(x->end_text) : NULL;
	size_t before = x->chain.n, keep = x->returned.steps, notes = x->notes.n;
	enum chain_end end = x->end;
	char owner[128] = "";
	bool searched = false, unknown = false;
	struct kinds kinds = {0};
	int r;

	if (!x->returned.slot || keep > before) {
		end_where_taken(x);
		return 0;
	}
	r = to_call(x, &text, owner, &kinds, &bad, e);
	if (!r) {
		found = str_fmt("%s != 0", text);
		r = condition_turned(x, found, found, owner, bad, &unknown, e);
		searched = r == 1 && !unknown;
	}
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (!r) {
		struct timeline_point turned = x->chain.v[x->chain.n - 1].at;

		if (asked_for_another(x, &kinds, bad, &turned)) {
			/* the call looked for something that existed before; why it does not any more is not known */
			forget_search(x, before, notes);
			if (end == END_CONSTANT)
				explain_end_instead(x, END_UNKNOWN, "`%s' returns 0 for this argument", text);
			else
				explain_end_instead(x, end, "%s", was ? was : "?");
			return 0;
		}
	}
	if (r || is_told(&x->chain, keep)) {
		forget_search(x, before, notes);
		if (searched && end == END_CONSTANT && before == keep + 1 && was_kept(x, keep))
			explain_end_instead(x, END_COMPUTED, "the statement kept what `%s' returned, which is 0", text);
		else if (searched && end == END_CONSTANT && before == keep + 1) /* it never returned anything else */
			tell_unchecked(x, keep, text);
		else if (r && text && end == END_CONSTANT && before == keep + 1)
			explain_end_instead(x, END_UNKNOWN, "since when `%s' returns 0 is not known", text);
		else
			explain_end_instead(x, end, "%s", was ? was : "?");
		return 0;
	}
	while (x->chain.n > keep + 1)
		explain_drop(x, keep);
	explain_end_instead(x, END_TRANSITION, "since this statement `%s' returns 0", text);
	return 0;
}
