/* SPDX-License-Identifier: MIT */
/* out.c: see out.h. */
#include "client/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonx.h"

const char *out_style(enum out_style s)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[33m"};
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !isatty(STDOUT_FILENO))
		return "";
	return codes[s];
}

int out_json(const json_t *v, struct err *e)
{
	if (json_dumpf(v, stdout, JSON_COMPACT | JSON_ENCODE_ANY) || putchar('\n') == EOF)
		return err_set(e, ERR_HOST, "standard output: write error");
	return 0;
}

/* Prints one line, even if the text contains line ends: it may quote file names and pieces of damaged files. */
static void print_line(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, stderr);
	fputc('\n', stderr);
}

void out_error(const struct cli *cli, const struct err *e, int exit_code)
{
	json_auto_t *v = NULL;
	struct err ignored;

	fputs("fred: ", stderr);
	print_line(e->text);
	if (!cli->json)
		return;
	v = json_pack("{s:{s:s, s:o, s:i}}", "error", "kind", err_kind_name(e->kind), "text",
		      json_text(e->text, strlen(e->text)), "exit_code", exit_code);
	out_json(v, &ignored);
}

static void print_format(const char *fmt, va_list ap)
{
	fputs("fred: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void out_note(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	print_format(fmt, ap);
	va_end(ap);
}

void out_failure(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_format(fmt, ap);
	va_end(ap);
}

int out_finish(struct err *e)
{
	if (fflush(stdout) || ferror(stdout))
		return err_errno(e, ERR_HOST, "standard output");
	return 0;
}

const char *out_str(const json_t *o, const char *key, const char *fallback)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : fallback;
}

json_int_t out_int(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

double out_real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

const char *out_bytes(unsigned long long n, char buf[32])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)n;
	size_t u = 0;

	while (v >= 1000 && u < 4) {
		v /= 1000;
		u++;
	}
	snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
	return buf;
}
