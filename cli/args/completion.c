/* SPDX-License-Identifier: MIT */
/*
 * completion.c: the table of shells that have a completion, and the completion for bash. That one is data for a small
 * function: for each command its options, the choices of their values, and what its arguments are.
 */
#include <string.h>

#include "args/completion_shells.h"
#include "args/help.h"

static const char *word_name(enum cli_word w)
{
	static const char *const names[] = {
		[WORD_NONE] = "none",	    [WORD_REC] = "rec",		[WORD_EXPR] = "none",
		[WORD_POS] = "pos",	    [WORD_DIR] = "dir",		[WORD_FILE] = "file",
		[WORD_PROGRAM] = "program", [WORD_COMMAND] = "command", [WORD_SHELL] = "shell",
	};

	return names[w];
}

static void print_names(FILE *f, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		fprintf(f, " --%s", o->name);
		if (o->letter)
			fprintf(f, " -%c", o->letter);
		if (o->joined)
			fprintf(f, " --%s=%s", o->name, o->choices);
	}
}

static void print_value_case(FILE *f, const struct cli_command *c, const struct cli_option *o)
{
	fprintf(f, "\t%s:--%s", c->name, o->name);
	if (o->letter)
		fprintf(f, "|%s:-%c", c->name, o->letter);
	if (o->choices)
		fprintf(f, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", o->choices);
	else
		fprintf(f, ") _fredctl_word %s; return ;;\n", word_name(o->word));
}

static void print_values(FILE *f, const struct cli_command *const *commands)
{
	fputs("\tcase \"$command:$prev\" in\n", f);
	for (const struct cli_command *const *c = commands; *c; c++)
		for (const struct cli_option *o = (*c)->options; o && o->name; o++)
			if (o->metavar && !o->joined)
				print_value_case(f, *c, o);
	fputs("\tesac\n", f);
}

static void print_commands(FILE *f, const struct cli_command *const *commands)
{
	fputs("\tcase \"$command\" in\n\t'') words=\"", f);
	for (const struct cli_command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			fprintf(f, "%s ", (*c)->name);
	fputs("\" ;;\n", f);
	for (const struct cli_command *const *c = commands; *c; c++) {
		fprintf(f, "\t%s) words=\"", (*c)->name);
		print_names(f, (*c)->options);
		fprintf(f, "\"; kind=%s", word_name((*c)->word));
		if ((*c)->first)
			fprintf(f, "; first=\"%s\"", (*c)->first);
		fputs(" ;;\n", f);
	}
	fputs("\tesac\n\twords+=\"", f);
	print_names(f, cli_global_options());
	fputs("\"\n", f);
}

static const char head[] =
	"# bash completion for fredctl; made by: fredctl completion bash\n"
	"_fredctl_word() {\n"
	"\tlocal home=${FRED_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/fred}\n"
	"\tcase $1 in\n"
	"\trec) COMPREPLY=($(compgen -W \"$(command ls \"$home/recordings\" 2>/dev/null)\" -- \"$cur\")"
	" $(compgen -d -- \"$cur\")) ;;\n"
	"\tpos) COMPREPLY=($(compgen -W 'start end' -- \"$cur\")) ;;\n"
	"\tdir) COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
	"\tfile) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\tprogram) COMPREPLY=($(compgen -c -f -- \"$cur\")) ;;\n"
	"\tshell) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")) ;;\n"
	"\tcommand) COMPREPLY=($(compgen -W \"$(fredctl help 2>/dev/null | awk '/^  [a-z]/ {print $1}')\""
	" -- \"$cur\")) ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_fredctl() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal command= words= kind=none first= i\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
	"\tdone\n";

static const char tail[] = "\tif [[ $cur == -* || -z $command ]]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			   "\telif [[ -n $first && $prev == \"$command\" ]]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$first\" -- \"$cur\"))\n"
			   "\telse\n"
			   "\t\t_fredctl_word \"$kind\"\n"
			   "\tfi\n"
			   "}\n"
			   "complete -F _fredctl fredctl\n";

static void completion_bash(FILE *f, const struct cli_command *const *commands)
{
	fputs(head, f);
	print_values(f, commands);
	print_commands(f, commands);
	fputs(tail, f);
}

int completion_print(FILE *f, const char *shell, const struct cli_command *const *commands, struct err *e)
{
	static const struct {
		const char *name;
		void (*print)(FILE *f, const struct cli_command *const *commands);
	} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (shell && !str_eq(shell, shells[i].name))
			continue;
		shells[i].print(f, commands);
		return 0;
	}
	return err_set(e, ERR_USAGE, "completion: there is none for '%s', only for bash, zsh and fish", shell);
}
