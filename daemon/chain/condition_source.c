/* SPDX-License-Identifier: MIT */
/* condition_source.c: see condition.h: the condition around a line, read in the text of the source. */
#include "chain/condition.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/text.h"

static void blank(char *s, char *end)
{
	for (; s < end; s++)
		if (*s != '\n')
			*s = ' ';
}

/* The end of the literal or comment that begins at s; s: there is none. */
static char *end_of_literal(char *s)
{
	char quote = *s, *end;

	if (!strncmp(s, "//", 2))
		return s + strcspn(s, "\n");
	if (!strncmp(s, "/*", 2)) {
		end = strstr(s + 2, "*/");
		return end ? end + 2 : s + strlen(s);
	}
	if (quote != '"' && quote != '\'')
		return s;
	for (end = s + 1; *end && *end != quote && *end != '\n'; end++)
		if (*end == '\\' && end[1])
			end++;
	return *end ? end + 1 : end;
}

/* Replaces comments, literals and the preprocessor's lines by blanks, so that the rest can be scanned. */
void condition_strip(char *text)
{
	bool fresh = true;

	for (char *s = text; *s;) {
		char *end = end_of_literal(s);

		if (end > s) {
			blank(s, end);
			s = end;
			continue;
		}
		if (*s == '#' && fresh) {
			end = s;
			while (*end && (*end != '\n' || end[-1] == '\\'))
				end++;
			blank(s, end);
			s = end;
			continue;
		}
		fresh = *s == '\n' || (fresh && isspace((unsigned char)*s));
		s++;
	}
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static bool is_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(s, word, n) && !text_is_name(s[n]);
}

static const char *end_of_statement(const char *s);

/* The end of an if, for or while: behind the condition in brackets and the statement. */
static const char *end_of_control(const char *s)
{
	s = skip_blanks(s);
	if (*s != '(')
		return NULL;
	s = inspect_closing(s);
	return s ? end_of_statement(s) : NULL;
}

/* NULL: the source is not understood. */
static const char *end_of_statement(const char *s)
{
	s = skip_blanks(s);
	if (*s == '{')
		return inspect_closing(s);
	if (is_word(s, "if")) {
		const char *next;

		s = end_of_control(s + 2);
		next = s ? skip_blanks(s) : NULL;
		return next && is_word(next, "else") ? end_of_statement(next + 4) : s;
	}
	if (is_word(s, "for"))
		return end_of_control(s + 3);
	if (is_word(s, "while") || is_word(s, "switch"))
		return end_of_control(s + (*s == 'w' ? 5 : 6));
	if (is_word(s, "do")) {
		s = end_of_statement(s + 2);
		return s ? end_of_statement(s) : NULL;
	}
	for (int depth = 0; *s; s++) {
		depth += *s == '(' || *s == '{' || *s == '[' ? 1 : *s == ')' || *s == '}' || *s == ']' ? -1 : 0;
		if (depth < 0)
			return NULL;
		if (*s == ';' && !depth)
			return s + 1;
	}
	return NULL;
}

/* The last character of the line that is not a blank; NULL: there is none. */
static const char *in_line(const char *text, int line)
{
	const char *s = text, *last = NULL;

	for (int i = 1; i < line && s; i++) {
		s = strchr(s, '\n');
		s = s ? s + 1 : NULL;
	}
	for (; s && *s && *s != '\n'; s++)
		if (!isspace((unsigned char)*s) && *s != '}' && *s != '{')
			last = s;
	return last;
}

/* Does the expression change anything? */
static bool has_effects(const char *expr)
{
	if (strstr(expr, "++") || strstr(expr, "--"))
		return true;
	for (const char *s = expr; (s = strchr(s, '=')); s++)
		if (s[1] == '=')
			s++;
		else if (s == expr || !strchr("=!<>", s[-1]))
			return true;
	return false;
}

static int line_of(const char *text, const char *at)
{
	int n = 1;

	for (const char *s = text; s < at; s++)
		n += *s == '\n';
	return n;
}

/* A condition in brackets, and the statement that depends on it. */
struct control {
	const char *open, *close; /* from its bracket to behind the closing one */
	const char *from, *to; /* the whole loop; NULL: it is not a loop */
	bool negated, chooses;
	bool lost; /* its end is not understood */
};

/* Is `at` in the part of an `if` that begins at s? */
static bool is_in_if(const char *s, const char *at, struct control *k)
{
	const char *end, *other;

	*k = (struct control){0};
	k->open = skip_blanks(s + 2);
	k->close = *k->open == '(' ? inspect_closing(k->open) : NULL;
	end = k->close ? end_of_statement(k->close) : NULL;
	k->lost = !end;
	if (!end)
		return false;
	other = skip_blanks(end);
	k->negated = false;
	if (at >= k->close && at < end)
		return true;
	k->negated = true;
	return is_word(other, "else") && at >= other && (other = end_of_statement(other + 4)) && at < other;
}

/* Narrows it to the second part in the brackets of a `for`. false: there is none. */
static bool narrow_for(struct control *k)
{
	const char *first = memchr(k->open, ';', (size_t)(k->close - k->open)), *second;

	second = first ? memchr(first + 1, ';', (size_t)(k->close - first - 1)) : NULL;
	if (!second || skip_blanks(first + 1) == second)
		return false;
	k->open = first;
	k->close = second + 1;
	return true;
}

/* Is `at` in the loop that begins at s, or in its condition? */
static bool is_in_loop(const char *s, const char *at, struct control *k)
{
	bool does = is_word(s, "do"), counts = is_word(s, "for");
	const char *body = does ? end_of_statement(s + 2) : NULL, *end;

	*k = (struct control){0};
	if (does && !(body && is_word(skip_blanks(body), "while")))
		return false;
	k->open = skip_blanks(does ? skip_blanks(body) + 5 : s + (counts ? 3 : 5));
	k->close = *k->open == '(' ? inspect_closing(k->open) : NULL;
	end = k->close ? (does ? k->close : end_of_statement(k->close)) : NULL;
	k->from = s;
	k->to = end;
	return end && at >= (does ? s : k->open) && at < end && (!counts || narrow_for(k));
}

static bool is_in_switch(const char *s, const char *at, struct control *k)
{
	const char *end;

	*k = (struct control){.chooses = true};
	k->open = skip_blanks(s + 6);
	k->close = *k->open == '(' ? inspect_closing(k->open) : NULL;
	end = k->close ? end_of_statement(k->close) : NULL;
	k->lost = !end;
	return end && at >= k->close && at < end;
}

/* Does a function end between the two places? Its last bracket is at the beginning of a line. */
static bool is_left(const char *from, const char *at)
{
	const char *end = strstr(from, "\n}");

	return end && end < at;
}

/* Is the line of `at` the first that is executed in each round of the loop? */
static bool is_first_in_body(const char *text, const struct control *k, const char *at)
{
	const char *line = at;

	while (line > text && line[-1] != '\n')
		line--;
	return line <= k->close || !memchr(k->close, ';', (size_t)(line - k->close));
}

enum { OF_IFS = 1, OF_LOOPS = 2, OF_SWITCHES = 8, OF_FIRST = 4 /* loops whose first statement it is */ };

static void take(const char *source, const char *text, const struct control *k, struct condition *c)
{
	c->negated = k->negated;
	c->chooses = k->chooses;
	c->from = line_of(text, k->open);
	c->to = line_of(text, k->close - 1);
	/* the original text, with its literals */
	c->text = xstrndup(source + (k->open + 1 - text), (size_t)(k->close - k->open - 2));
	for (char *s = c->text; *s; s++)
		if (*s == '\n' || *s == '\t' || *s == '\r')
			*s = ' ';
	c->effects = has_effects(c->text);
	if (k->from)
		c->all = xstrndup(k->from, (size_t)(k->to - k->from));
}

static void around(const char *source, int line, unsigned which, struct condition *c)
{
	cleanup_free char *text = xstrdup(source);
	struct control found = {0};
	const char *at;

	*c = (struct condition){0};
	condition_strip(text);
	at = in_line(text, line);
	c->lost = !at;
	for (const char *s = text; at && s <= at; s++) {
		struct control k = {0};
		bool is = false;

		if (s > text && text_is_name(s[-1]))
			continue;
		if (is_word(s, "if"))
			is = (which & OF_IFS) && is_in_if(s, at, &k);
		else if (is_word(s, "switch"))
			is = (which & OF_SWITCHES) && is_in_switch(s, at, &k);
		else if (is_word(s, "while") || is_word(s, "for") || is_word(s, "do"))
			is = (which & OF_LOOPS) && is_in_loop(s, at, &k) &&
			     (!(which & OF_FIRST) || is_first_in_body(text, &k, at));
		if (is)
			found = k;
		c->lost |= k.lost && !is_left(s, at);
	}
	if (found.open)
		take(source, text, &found, c);
}

void condition_around(const char *source, int line, struct condition *c)
{
	around(source, line, OF_IFS | OF_SWITCHES, c);
}

void condition_of_wait(const char *source, int line, struct condition *c)
{
	around(source, line, OF_IFS | OF_LOOPS | OF_FIRST, c);
}

void condition_of_loop(const char *source, int line, struct condition *c)
{
	around(source, line, OF_LOOPS, c);
}

void condition_fini(struct condition *c)
{
	free(c->text);
	free(c->all);
	c->text = c->all = NULL;
}

bool condition_only_tests(const char *line)
{
	static const char *const tests[] = {"while", "if", "assert"};
	cleanup_free char *text = xstrdup(line);
	size_t n = strlen(text);
	const char *s;
	bool is = false;

	condition_strip(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	s = text + strspn(text, " \t}");
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		is |= is_word(s, tests[i]);
	return is && text[n - 1] != ';' && !has_effects(s);
}

/* Does it consist only of names, members and indices, so that an operator in front applies to all of it? */
static bool is_primary(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[].") == strlen(s) ||
	       (!strpbrk(s, " +*/%&|<=!?,(") && strstr(s, "->"));
}

char *condition_good(const struct condition *c)
{
	if (c->negated)
		return xstrdup(c->text);
	if (*c->text == '!' && is_primary(c->text + 1))
		return xstrdup(c->text + 1);
	return str_fmt("!(%s)", c->text);
}

/* ---- lists ---- */

static const char *skip_word(const char *s)
{
	while (text_is_name(*s))
		s++;
	return s;
}

/* Are the bytes at s "= NAME->FIELD", with this name of n bytes, and nothing else? The field; NULL: they are not. */
static const char *moved_along(const char *s, const char *name, size_t n)
{
	const char *after;

	s = skip_blanks(s);
	if (*s != '=')
		return NULL;
	s = skip_blanks(s + 1);
	if (strncmp(s, name, n) || skip_word(s) != s + n)
		return NULL;
	s = skip_blanks(s + n);
	if (strncmp(s, "->", 2))
		return NULL;
	s = skip_blanks(s + 2);
	after = skip_blanks(skip_word(s));
	return skip_word(s) > s && *after && strchr(");,", *after) ? s : NULL;
}

bool condition_list_walked(const char *loop, char **name, char **field)
{
	for (const char *s = loop; *s;) {
		const char *end = skip_word(s), *to;

		if (end == s) {
			s++;
			continue;
		}
		to = s > loop && strchr(".>*", s[-1]) ? NULL : moved_along(end, s, (size_t)(end - s));
		if (to) {
			*name = xstrndup(s, (size_t)(end - s));
			*field = xstrndup(to, (size_t)(skip_word(to) - to));
			return true;
		}
		s = end;
	}
	return false;
}

/* ---- assignments ---- */

/* Where an assignment's operator begins, which ends before `=`; or an increment behind its operand at s; NULL: none. */
static const char *assignment(const char *text, const char *s)
{
	if ((s[0] == '+' || s[0] == '-') && s[1] == s[0])
		return s;
	if (*s != '=' || s[1] == '=' || s == text || strchr("=!", s[-1]))
		return NULL;
	if (strchr("<>", s[-1]))
		return s - 1 > text && s[-2] == s[-1] ? s - 2 : NULL;
	return strchr("+-*/%&|^", s[-1]) ? s - 1 : s;
}

static const char *back_over_blanks(const char *text, const char *s)
{
	while (s > text && isspace((unsigned char)s[-1]))
		s--;
	return s;
}

/* Where the names and members that end at s begin. */
static const char *begin_of_path(const char *text, const char *s)
{
	while (s > text && (isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '.' ||
			    (s[-1] == '>' && s - 1 > text && s[-2] == '-')))
		s -= s[-1] == '>' ? 2 : 1;
	return s;
}

/* The opening bracket for the closing one before s; NULL: none. */
static const char *opening(const char *text, const char *s)
{
	int depth = 0;

	while (s-- > text) {
		depth += *s == ']' ? 1 : *s == '[' ? -1 : 0;
		if (!depth)
			return s;
	}
	return NULL;
}

char *condition_assigned_array(const char *statement)
{
	cleanup_free char *text = xstrdup(statement);
	char *array = NULL;

	condition_strip(text);
	for (const char *s = text; *s; s++) {
		const char *op = assignment(text, s), *end = op ? back_over_blanks(text, op) : NULL, *begin;
		bool indexed = end && end > text && end[-1] == ']', unclear;

		if (!op)
			continue;
		if (s[0] != '=')
			s++;
		if (indexed)
			end = opening(text, end);
		begin = end ? begin_of_path(text, end) : NULL;
		/* "++a[i]", "*p =", "*(p + 1) =", "a[i][j] =": it may be the one that writes */
		unclear = !begin || begin == end || (begin > text && strchr("*>", back_over_blanks(text, begin)[-1]));
		if (unclear || (indexed && array)) {
			free(array);
			return NULL;
		}
		if (indexed)
			array = xstrndup(begin, (size_t)(end - begin));
	}
	return array;
}

#define NAMES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool condition_is_of_numbers(const char *expr)
{
	for (const char *s = expr; *s;) {
		size_t n = strspn(s, NAMES), type = *s == '(' ? strspn(s + 1, NAMES " ") : 0;

		if (n ? !isdigit((unsigned char)*s) : strchr("*[\"'$:.", *s) != NULL)
			return false;
		if (type && s[1 + type] == ')' && isdigit((unsigned char)s[2 + type]))
			n = 2 + type; /* the type of a number before it */
		s += n ? n : 1;
	}
	return true;
}
