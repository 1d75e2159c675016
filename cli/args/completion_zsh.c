/* SPDX-License-Identifier: MIT */
/* completion_zsh.c: the completion for zsh: per command, the specifications that _arguments takes (zshcompsys(1)). */
#include "args/completion_shells.h"

#include <string.h>

/* The action of _arguments for such a word. */
static const char *action(enum cli_word w)
{
	static const char *const actions[] = {
		[WORD_NONE] = " ",
		[WORD_REC] = "_fredctl_recordings",
		[WORD_EXPR] = " ",
		[WORD_POS] = "(start end)",
		[WORD_DIR] = "_files -/",
		[WORD_FILE] = "_files",
		[WORD_PROGRAM] = "_command_names -e",
		[WORD_COMMAND] = "_fredctl_commands",
		[WORD_SHELL] = "(bash zsh fish)",
	};

	return actions[w];
}

/* Text inside '...', with the characters escaped that mean something to _arguments. */
static void print_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", f);
		else if (strchr("[]:\\", *text))
			fputc('\\', f);
		fputc(*text, f);
	}
}

static void print_value(FILE *f, const struct cli_option *o)
{
	fputs(o->joined ? "::" : ":", f);
	print_text(f, o->metavar);
	fputc(':', f);
	if (o->choices) {
		fputc('(', f);
		print_text(f, o->choices);
		fputc(')', f);
	} else {
		fputs(action(o->word), f);
	}
}

/* One way to write the option: "--name=" or "-n" with its dashes. */
static void print_spec(FILE *f, const struct cli_option *o, const char *dashes, const char *name, const char *sign)
{
	fprintf(f, " \\\n\t\t\t'%s%s%s%s[", o->repeated ? "*" : "", dashes, name, o->metavar ? sign : "");
	print_text(f, o->help);
	fputc(']', f);
	if (o->metavar)
		print_value(f, o);
	fputc('\'', f);
}

static void print_options(FILE *f, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		print_spec(f, o, "--", o->name, o->joined ? "=-" : "=");
		if (o->letter)
			print_spec(f, o, "-", (const char[]){o->letter, '\0'}, "");
		else if (o->gdb)
			print_spec(f, o, "-", o->name, "");
	}
}

static void print_command(FILE *f, const struct cli_command *c)
{
	fprintf(f, "\t%s)\n\t\t_arguments -s", c->name);
	print_options(f, c->options);
	print_options(f, cli_global_options());
	if (c->program || c->word == WORD_PROGRAM)
		fputs(" \\\n\t\t\t'*::program:_normal'", f);
	else if (c->max_args)
		fprintf(f, " \\\n\t\t\t'*:argument:%s'", action(c->word));
	fputs("\n\t\t;;\n", f);
}

static void print_names(FILE *f, const struct cli_command *const *commands)
{
	fputs("_fredctl_commands() {\n\tlocal -a commands=(", f);
	for (const struct cli_command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		fprintf(f, "\n\t\t'%s:", (*c)->name);
		print_text(f, (*c)->help);
		fputc('\'', f);
	}
	fputs("\n\t)\n\t_describe command commands\n}\n\n", f);
}

static const char head[] = "#compdef fredctl\n"
			   "# zsh completion for fredctl; made by: fredctl completion zsh\n"
			   "\n"
			   "_fredctl_recordings() {\n"
			   "\tlocal all=${FRED_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/fred}/recordings\n"
			   "\tlocal -a names=($all/*(N/:t))\n"
			   "\t(( $#names )) && compadd -a names\n"
			   "\t_files -/\n"
			   "}\n"
			   "\n";

static const char middle[] = "_fredctl() {\n"
			     "\tlocal curcontext=$curcontext state line ret=1\n"
			     "\ttypeset -A opt_args\n"
			     "\n"
			     "\t_arguments -C -s";

static const char tail[] = "\tesac && ret=0\n"
			   "\treturn ret\n"
			   "}\n"
			   "\n"
			   "if [[ $funcstack[1] == _fredctl ]]; then\n"
			   "\t_fredctl \"$@\"\n"
			   "else\n"
			   "\tcompdef _fredctl fredctl\n"
			   "fi\n";

void completion_zsh(FILE *f, const struct cli_command *const *commands)
{
	fputs(head, f);
	print_names(f, commands);
	fputs(middle, f);
	print_options(f, cli_global_options());
	fputs(" \\\n\t\t\t'1:command:_fredctl_commands' \\\n\t\t\t'*::argument:->argument' && ret=0\n"
	      "\t[[ $state == argument ]] || return ret\n"
	      "\tcase $words[1] in\n",
	      f);
	for (const struct cli_command *const *c = commands; *c; c++)
		print_command(f, *c);
	fputs(tail, f);
}
