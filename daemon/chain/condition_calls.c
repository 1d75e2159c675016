/* SPDX-License-Identifier: MIT */
/* condition_calls.c: see condition.h: the calls in a text of source, and what a statement sets. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/condition.h"
#include "expr/text.h"

/* Is a name with a bracket at s a call, and not a declaration, by the text before it? */
static bool begins_call(const char *source, const char *s)
{
	static const char *const words[] = {"return", "else", "do"};
	const char *end;

	while (s > source && isspace((unsigned char)s[-1]))
		s--;
	if (s == source || strchr(";{}()=!&|,?:<>+-/%~", s[-1]))
		return s > source;
	for (end = s; s > source && text_is_name(s[-1]); s--)
		;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == (size_t)(end - s) && !strncmp(words[i], s, strlen(words[i])))
			return true;
	return false;
}

/*
 * Is the name at s, with a bracket at `open`, in a definition or declaration? Statements are indented, and no body
 * follows them.
 */
static bool is_declared(const char *source, const char *s, const char *open)
{
	const char *end = inspect_closing(open);

	while (s > source && s[-1] != '\n')
		s--;
	return !isspace((unsigned char)*s) || (end && end[strspn(end, " \t\r\n")] == '{');
}

unsigned condition_calls_in(const char *text, const char *function)
{
	cleanup_free char *source = xstrdup(text);
	size_t n = strlen(function);
	unsigned calls = 0;

	condition_strip(source);
	for (const char *s = source; n && (s = strstr(s, function)); s += n) {
		const char *next = s + n + strspn(s + n, " ");

		if (*next != '(' || (s > source && (text_is_name(s[-1]) || s[-1] == '"')))
			continue;
		calls += begins_call(source, s) && !is_declared(source, s, next);
	}
	return calls;
}

char *condition_member_set(const char *line)
{
	const char *name = line + strspn(line, " \t"), *s = name, *value;
	size_t n = 0, len;

	while (text_is_name(name[n]))
		n++;
	s += n;
	if (!n || isdigit((unsigned char)*name) || strncmp(s, "->", 2))
		return NULL;
	for (s += 2; text_is_name(*s) || *s == '.'; s++)
		;
	s += strspn(s, " \t");
	if (s[0] != '=' || s[1] == '=')
		return NULL;
	value = s + 1 + strspn(s + 1, " \t-");
	for (len = 0; text_is_name(value[len]); len++)
		if (islower((unsigned char)value[len]) && !isdigit((unsigned char)*value) &&
		    strncmp(value, "true;", 5) && strncmp(value, "false;", 6) && strncmp(value, "nullptr;", 8))
			return NULL;
	if (!len || value[len] != ';')
		return NULL;
	s = value + len + 1;
	s += strspn(s, " \t\r\n");
	if (str_starts(s, "/*")) {
		s = strstr(s + 2, "*/");
		s = s ? s + 2 + strspn(s + 2, " \t\r\n") : "";
	}
	return !*s || str_starts(s, "//") ? xstrndup(name, n) : NULL;
}

char *condition_name_assigned(const char *line)
{
	const char *value = strchr(line, '=');
	size_t n = 0;

	if (!value || value[1] == '=' || value == line || strchr("=!<>+-*/%&|^", value[-1]))
		return NULL;
	for (value++; isspace((unsigned char)*value); value++)
		;
	while (text_is_name(value[n]))
		n++;
	return n && !isdigit((unsigned char)*value) && value[n] == ';' ? xstrndup(value, n) : NULL;
}
