/* SPDX-License-Identifier: MIT */
/* completion_fish.c: the completion for fish: one `complete` for each command and option. */
#include "args/completion_shells.h"

#include <string.h>

/* What follows -a, after the switches that say whether fish offers files. */
static const char *values(enum cli_word w)
{
	static const char *const all[] = {
		[WORD_NONE] = " -x",
		[WORD_REC] = " -x -a '(__fredctl_recordings; __fish_complete_directories)'",
		[WORD_EXPR] = " -x",
		[WORD_POS] = " -x -a 'start end'",
		[WORD_DIR] = " -x -a '(__fish_complete_directories)'",
		[WORD_FILE] = " -r -F",
		[WORD_PROGRAM] = " -r -F -a '(__fish_complete_command)'",
		[WORD_COMMAND] = " -x -a '(__fredctl_commands)'",
		[WORD_SHELL] = " -x -a 'bash zsh fish'",
	};

	return all[w];
}

/* 'text' */
static void print_text(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (strchr("\\'", *text))
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('\'', f);
}

static void print_option(FILE *f, const char *condition, const struct cli_option *o)
{
	fprintf(f, "complete -c fredctl -n '%s' -l %s", condition, o->name);
	if (o->letter)
		fprintf(f, " -s %c", o->letter);
	else if (o->gdb)
		fprintf(f, strlen(o->name) == 1 ? " -s %s" : " -o %s", o->name);
	fputs(" -d ", f);
	print_text(f, o->help);
	if (o->choices) {
		fputs(o->joined ? " -a " : " -x -a ", f);
		print_text(f, o->choices);
	} else if (o->metavar) {
		fputs(values(o->word), f);
	}
	fputc('\n', f);
}

static void print_command(FILE *f, const struct cli_command *c)
{
	cleanup_free char *condition = str_fmt("__fredctl_is %s", c->name);

	for (const struct cli_option *o = c->options; o && o->name; o++)
		print_option(f, condition, o);
	if (c->max_args || c->program)
		fprintf(f, "complete -c fredctl -n '%s'%s\n", condition, values(c->program ? WORD_PROGRAM : c->word));
}

static void print_names(FILE *f, const struct cli_command *const *commands)
{
	fputs("function __fredctl_commands\n", f);
	for (const struct cli_command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		fprintf(f, "\tprintf '%%s\\t%%s\\n' %s ", (*c)->name);
		print_text(f, (*c)->help);
		fputc('\n', f);
	}
	fputs("end\n\n", f);
}

static const char head[] = "# fish completion for fredctl; made by: fredctl completion fish\n"
			   "\n"
			   "function __fredctl_recordings\n"
			   "\tset -l all $FRED_HOME\n"
			   "\ttest -n \"$all\"; or set all $XDG_DATA_HOME/fred\n"
			   "\ttest -n \"$FRED_HOME$XDG_DATA_HOME\"; or set all ~/.local/share/fred\n"
			   "\tcommand ls $all/recordings 2>/dev/null\n"
			   "end\n"
			   "\n"
			   "# Is that the command on the command line? Without an argument: is there one?\n"
			   "function __fredctl_is\n"
			   "\tset -l words (commandline -opc)\n"
			   "\tset -e words[1]\n"
			   "\tfor word in $words\n"
			   "\t\tstring match -q -- '-*' $word; and continue\n"
			   "\t\tset -q argv[1]; or return 0\n"
			   "\t\ttest $word = $argv[1]\n"
			   "\t\treturn\n"
			   "\tend\n"
			   "\treturn 1\n"
			   "end\n"
			   "\n";

void completion_fish(FILE *f, const struct cli_command *const *commands)
{
	fputs(head, f);
	print_names(f, commands);
	fputs("complete -c fredctl -f\n"
	      "complete -c fredctl -n 'not __fredctl_is' -a '(__fredctl_commands)'\n",
	      f);
	for (const struct cli_option *o = cli_global_options(); o->name; o++)
		print_option(f, "true", o);
	for (const struct cli_command *const *c = commands; *c; c++)
		print_command(f, *c);
}
