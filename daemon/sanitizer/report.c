/* SPDX-License-Identifier: MIT */
/* report.c: see report.h. */
#include "sanitizer/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* The text without the escape sequences for colours, malloc'd. */
static char *without_colours(const char *text)
{
	char *plain = xstrdup(text), *to = plain;

	for (const char *s = text; *s; s++) {
		if (*s == '\033' && s[1] == '[') {
			size_t n = 2 + strspn(s + 2, "0123456789;");

			if (s[n] == 'm') {
				s += n;
				continue;
			}
		}
		*to++ = *s;
	}
	*to = '\0';
	return plain;
}

/* "... ERROR: TOOL: WHAT on address 0x... at pc ..." */
static bool parse_error(const char *s, struct sanitizer_report *r)
{
	size_t line = strcspn(s, "\n"), tool = strcspn(s, ":\n"), what;
	const char *on, *hex;

	if (s[tool] != ':' || s[tool + 1] != ' ')
		return false;
	snprintf(r->tool, sizeof(r->tool), "%.*s", (int)tool, s);
	s += tool + 2;
	line -= tool + 2;
	on = memmem(s, line, " on ", 4);
	what = on ? (size_t)(on - s) : line;
	snprintf(r->what, sizeof(r->what), "%.*s", (int)what, s);
	hex = memmem(s, line, on ? " 0x" : ": 0x", on ? 3 : 4);
	if (hex)
		r->addr = strtoull(strchr(hex, '0'), NULL, 16);
	return true;
}

bool sanitizer_report_parse(const char *text, struct sanitizer_report *r)
{
	static const char error[] = "ERROR: ", runtime[] = ": runtime error: ";
	cleanup_free char *plain = without_colours(text);
	const char *s = strstr(plain, error), *size;

	*r = (struct sanitizer_report){0};
	if (s && !parse_error(s + strlen(error), r))
		return false;
	if (!s) {
		s = strstr(plain, runtime);
		if (!s)
			return false;
		s += strlen(runtime);
		snprintf(r->tool, sizeof(r->tool), "UndefinedBehaviorSanitizer");
		snprintf(r->what, sizeof(r->what), "%.*s", (int)strcspn(s, "\n"), s);
		return true;
	}
	size = strstr(s, " of size ");
	if (size) {
		r->size = strtoull(size + strlen(" of size "), NULL, 10);
		r->writes = size - s >= 5 && !memcmp(size - 5, "WRITE", 5);
	}
	return true;
}

bool sanitizer_report_is_stale(const struct sanitizer_report *r)
{
	return strstr(r->what, "use-after") || strstr(r->what, "double-free");
}
