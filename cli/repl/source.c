/* SPDX-License-Identifier: MIT */
/* source.c: the source around a stop, in colours on a terminal, unless NO_COLOR is set. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "repl/repl.h"

#define AROUND 4

#define DIM "\033[2m"
#define BOLD "\033[1m"
#define GREEN "\033[32m"
#define BLUE "\033[34m"
#define RESET "\033[0m"

static const char *const keywords[] = {
	"auto",	  "bool",    "break",  "case",	   "char",   "class",	"const",  "continue",  "default",
	"delete", "do",	     "double", "else",	   "enum",   "extern",	"float",  "fn",	       "for",
	"goto",	  "if",	     "impl",   "int",	   "let",    "long",	"mut",	  "namespace", "new",
	"return", "short",   "signed", "sizeof",   "static", "struct",	"switch", "template",  "throw",
	"try",	  "typedef", "union",  "unsigned", "use",    "virtual", "void",	  "volatile",  "while",
};

static bool colours(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(1) && !(no && *no);
}

static bool is_keyword(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i]) == n && !strncmp(keywords[i], word, n))
			return true;
	return false;
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

/* A text in quotes, with them. */
static size_t quoted_length(const char *p)
{
	size_t n = 1;

	while (p[n] && p[n] != p[0])
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return n + (p[n] != '\0');
}

/* The token at p, and its colour. Comments end with the line, since comments of several lines are not recognised. */
static size_t token(const char *p, const char **colour)
{
	size_t n = word_length(p);

	*colour = NULL;
	if (n) {
		*colour = is_keyword(p, n) ? BLUE : NULL;
		return n;
	}
	if (*p == '"' || (*p == '\'' && strchr(p + 1, '\''))) {
		*colour = GREEN;
		return quoted_length(p);
	}
	if (str_starts(p, "//") || str_starts(p, "/*")) {
		const char *end = p[1] == '*' ? strstr(p + 2, "*/") : NULL;

		*colour = DIM;
		return end ? (size_t)(end + 2 - p) : strlen(p);
	}
	return 1;
}

static void print_line(const char *p)
{
	while (*p) {
		const char *colour;
		size_t n = token(p, &colour);

		printf("%s%.*s%s", colour ? colour : "", (int)n, p, colour ? RESET : "");
		p += n;
	}
	putchar('\n');
}

void source_show(const char *path, int line)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *text = NULL;
	bool colour = colours();
	size_t cap = 0;

	for (int i = 1; f && i <= line + AROUND && getline(&text, &cap, f) >= 0; i++) {
		if (i < line - AROUND)
			continue;
		text[strcspn(text, "\n")] = '\0';
		printf("%s%s%5d%s  ", colour && i == line ? BOLD : "", i == line ? "=>" : "  ", i, colour ? RESET : "");
		if (colour)
			print_line(text);
		else
			puts(text);
	}
}
