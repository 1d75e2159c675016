/* SPDX-License-Identifier: MIT */
/* call_text.c: see call_text.h. */
#include "expr/call_text.h"

#include <ctype.h>
#include <string.h>

#include "expr/text.h"

static bool is_keyword(const char *s, size_t n)
{
	static const char *const words[] = {"sizeof",	  "typeof",	     "decltype",    "alignof",
					    "_Alignof",	  "unsigned",	     "static_cast", "dynamic_cast",
					    "const_cast", "reinterpret_cast"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && !memcmp(words[i], s, n))
			return true;
	return false;
}

static size_t without_blanks(const char *s, size_t end)
{
	while (end && isspace((unsigned char)s[end - 1]))
		end--;
	return end;
}

/* Where the name that ends before `end` begins, with its scopes. */
static size_t name_begin(const char *s, size_t end)
{
	while (end) {
		if (text_is_name(s[end - 1]))
			end--;
		else if (end > 1 && s[end - 1] == ':' && s[end - 2] == ':')
			end -= 2;
		else
			break;
	}
	return end;
}

/* Where the brackets that end before `end` begin; end: there is no opening one. */
static size_t group_begin(const char *s, size_t end)
{
	size_t at = end;
	int depth = 0;

	do {
		at--;
		depth += (s[at] == ']' || s[at] == ')') - (s[at] == '[' || s[at] == '(');
	} while (at && depth);
	return depth ? end : at;
}

/* Where the . or -> that ends before `end` begins; end: there is none. */
static size_t selector_begin(const char *s, size_t end)
{
	if (end && s[end - 1] == '.')
		return end - 1;
	return end > 1 && s[end - 1] == '>' && s[end - 2] == '-' ? end - 2 : end;
}

/*
 * Where the operand that ends before `end` begins: a.b->c[i], f(x).a or (p+1)->a. end: there is none of these. (In
 * (T)(p)->a only the second brackets belong to the operand.)
 */
static size_t operand_begin(const char *s, size_t end)
{
	size_t at = without_blanks(s, end);

	for (;;) {
		bool round = false;
		size_t b = at, before;

		while (at && strchr("])", s[at - 1])) {
			size_t open = group_begin(s, at);

			if (open == at || (round && s[open] == '('))
				return end;
			round = s[open] == '(';
			b = open;
			at = without_blanks(s, open);
		}
		before = name_begin(s, at);
		if (before == at && !round)
			return end;
		if (before < at)
			b = before;
		before = without_blanks(s, b);
		at = selector_begin(s, before);
		if (at == before)
			return b;
		at = without_blanks(s, at);
	}
}

/* Where the "<int>" that ends before `end` in a function's name begins; end: there is none. */
static size_t template_begin(const char *s, size_t end)
{
	size_t at = end;
	int depth = 0;

	if (!end || s[end - 1] != '>')
		return end;
	do {
		at--;
		depth += (s[at] == '>') - (s[at] == '<');
	} while (at && depth && (text_is_name(s[at]) || strchr("<>:, *&", s[at])));
	/* in a < b > (c) and a<b && c>(d) these are comparisons */
	if (depth || isspace((unsigned char)s[end - 2]) || memmem(s + at, end - at, "&&", 2))
		return end;
	return at && text_is_name(s[at - 1]) ? at : end;
}

/* Is this bracket the beginning of a call's arguments? The object before the name is not looked for. */
static bool is_call(const char *s, size_t open, struct call_text *f)
{
	size_t b, end = without_blanks(s, open), args = template_begin(s, end);

	if (s[open] != '(' || !args || !text_is_name(s[args - 1]))
		return false;
	b = name_begin(s, args);
	if (isdigit((unsigned char)s[b]) || is_keyword(s + b, args - b))
		return false;
	*f = (struct call_text){.object = b, .name = b, .name_end = end, .open = open};
	return true;
}

bool call_text_receiver(const char *s, struct call_text *f)
{
	size_t end = without_blanks(s, f->name);

	if (selector_begin(s, end) == end)
		return true;
	f->object_end = selector_begin(s, end);
	f->arrow = s[f->object_end] == '-';
	f->object = operand_begin(s, f->object_end);
	return f->object < f->object_end;
}

bool call_text_next(const char *s, size_t *i, struct call_text *f)
{
	while (s[*i]) {
		const char *after = text_is_quote(s[*i]) ? text_after_quote(s + *i) : s + *i + 1;

		if (!after)
			return false;
		if (is_call(s, *i, f)) {
			++*i;
			return true;
		}
		*i = (size_t)(after - s);
	}
	return false;
}

static bool has_call(const char *s, size_t begin, size_t end)
{
	struct call_text f;

	return call_text_next(s, &begin, &f) && f.open < end;
}

bool call_text_last(const char *s, struct call_text *f)
{
	const char *after;
	bool any = false;
	size_t i = 0;

	*f = (struct call_text){0};
	while (call_text_next(s, &i, f))
		any = true;
	after = any ? text_after_group(s + f->open) : NULL;
	if (!after)
		return false;
	f->close = (size_t)(after - s) - 1;
	/* an object that a call returns is left to GDB */
	return call_text_receiver(s, f) && !(f->object < f->name && has_call(s, f->object, f->object_end));
}
