/* SPDX-License-Identifier: MIT */
/* text.c: see text.h. */
#include "expr/text.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool text_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool text_has_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = s; n && (p = strstr(p, word)); p += n)
		if ((p == s || !text_is_name(p[-1])) && !text_is_name(p[n]))
			return true;
	return false;
}

bool text_is_quote(char c)
{
	return c == '"' || c == '\'';
}

const char *text_after_quote(const char *s)
{
	char quote = *s++;

	while (*s && *s != quote)
		s += *s == '\\' && s[1] ? 2 : 1;
	return *s ? s + 1 : NULL;
}

const char *text_after_group(const char *s)
{
	int depth = 0;

	do {
		depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
		s = text_is_quote(*s) ? text_after_quote(s) : s + 1;
	} while (s && *s && depth > 0);
	return depth > 0 ? NULL : s;
}
