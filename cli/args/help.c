/* SPDX-License-Identifier: MIT */
/* help.c: see help.h. */
#include "args/help.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

static void print_option(FILE *f, const struct cli_option *o)
{
	cleanup_free char *left = o->letter ? str_fmt("-%c, --%s", o->letter, o->name) : str_fmt("    --%s", o->name);

	if (o->metavar)
		str_set(&left, o->joined ? "%s[=%s]" : "%s %s", left, o->metavar);
	fprintf(f, "  %-26s %s%s\n", left, o->help, o->required ? " (required)" : "");
}

void help_overview(FILE *f, const struct cli_command *const *commands)
{
	fputs("usage: fredctl [--json] [-q] [-v] COMMAND ...\n\n"
	      "fred finds the statement that made an expression go wrong.\n\n",
	      f);
	for (const struct cli_command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			fprintf(f, "  %-14s %s\n", (*c)->name, (*c)->help);
	fputs("\n", f);
	for (const struct cli_option *o = cli_global_options(); o->name; o++)
		print_option(f, o);
	fputs("\nfredctl help COMMAND says more. The manual is fredctl(1).\n", f);
}

static bool takes_position(const struct cli_command *c)
{
	for (const struct cli_option *o = c->options; o && o->name; o++)
		if (o->word == WORD_POS)
			return true;
	return false;
}

/* What the words of the usage stand for. */
static void print_words(FILE *f, const struct cli_command *c)
{
	if (strstr(c->usage, "REC"))
		fprintf(f, "\nREC is a directory or a name that fredctl ls lists%s.\n",
			strstr(c->usage, "[REC]") ? "; the default is the latest recording" : "");
	else if (c->word == WORD_REC)
		fputs("\nA recording is a directory or a name that fredctl ls lists.\n", f);
	if (takes_position(c))
		fputs("POS is start, end, an event number N, N/0xPC#HITS (the HITS-th time at an address "
		      "after\nevent N), PCT% of the events, @SECONDS since the start, or ckpt:ID.\n",
		      f);
}

void help_command(FILE *f, const struct cli_command *c)
{
	fprintf(f, "usage: fredctl %s%s%s\n\n%s\n", c->name, *c->usage ? " " : "", c->usage, c->help);
	if (c->options)
		fputs("\n", f);
	for (const struct cli_option *o = c->options; o && o->name; o++)
		print_option(f, o);
	print_words(f, c);
}

static json_t *options_json(const struct cli_option *o)
{
	json_t *list = json_array();

	for (; o && o->name; o++) {
		const char letter[2] = {o->letter, '\0'};

		json_array_append_new(list, json_pack("{s:s, s:s*, s:s*, s:s, s:s*, s:b}", "name", o->name, "letter",
						      o->letter ? letter : NULL, "metavar", o->metavar, "help", o->help,
						      "choices", o->choices, "required", o->required));
	}
	return list;
}

json_t *help_json(const struct cli_command *const *commands)
{
	json_t *list = json_array();

	for (const struct cli_command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:o}", "name", (*c)->name, "help", (*c)->help,
							"usage", (*c)->usage, "options", options_json((*c)->options)));
	return json_pack("{s:o, s:o}", "commands", list, "options", options_json(cli_global_options()));
}
