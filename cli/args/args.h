/* SPDX-License-Identifier: MIT */
/*
 * args.h: the command line. A command is a const struct cli_command; the parser, help, `help --json`, completion and
 * the lint check of the manual read the table of all commands, which is an argument (cmd/commands.c has fredctl's).
 */
#ifndef FRED_ARGS_ARGS_H
#define FRED_ARGS_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define CLI_MAX_OPTIONS 32

/* What a word on the command line stands for, for completion. */
enum cli_word { WORD_NONE, WORD_REC, WORD_EXPR, WORD_POS, WORD_DIR, WORD_FILE, WORD_PROGRAM, WORD_COMMAND, WORD_SHELL };

struct cli_option {
	const char *name; /* without "--" */
	const char *metavar; /* NULL: takes no value */
	const char *help;
	const char *choices; /* separated by spaces; NULL: anything. "x:" also allows x:ANYTHING */
	enum cli_word word; /* of the value */
	char letter; /* 0: none */
	bool required;
	bool repeated; /* may be given several times */
	bool gdb; /* one of GDB's own, with one dash or two: for cli->gdb */
	bool joined; /* the value is optional, and only accepted as --name=VALUE */
};

struct cli;

struct cli_command {
	const char *name;
	const char *help; /* one line */
	const char *usage; /* what follows "fredctl NAME" */
	const struct cli_option *options; /* ends with a NULL name; may be NULL */
	/* Exit code, or -1 with e set. */
	int (*exec)(struct cli *cli, struct err *e);
	unsigned min_args, max_args;
	enum cli_word word; /* of the arguments */
	const char *first; /* the choices of the first argument, separated by spaces; NULL: as the others */
	bool program; /* the first argument and all after it are a program and its arguments */
	bool foreign; /* options that it does not know are another program's: they become arguments */
	bool hidden;
};

/* A parsed command line. */
struct cli {
	const struct cli_command *const *commands; /* all, ended by NULL */
	const struct cli_command *command;
	bool json, quiet, help;
	bool background; /* another thread of this process handles signals */
	unsigned verbose;
	struct strv args;
	struct strv gdb; /* GDB's own options, in their order, to be passed to it */
	bool dashes; /* "--" came before the first argument */
	struct strv values[CLI_MAX_OPTIONS]; /* by index into command->options */
};

/* The command of this name; NULL with ERR_USAGE, and what may have been meant. */
const struct cli_command *cli_command_find(const struct cli *cli, const char *name, struct err *e);
/* The options that every command takes, ended by a NULL name. */
const struct cli_option *cli_global_options(void);

/* The value of an option; NULL if it was not given. Aborts if the command has no option of that name. */
const char *cli_value(const struct cli *cli, const char *name);
const struct strv *cli_values(const struct cli *cli, const char *name);
bool cli_has(const struct cli *cli, const char *name);

/* ERR_USAGE for wrong command lines. Zeroes *cli first; cli_fini in any case. */
int cli_parse(struct cli *cli, const struct cli_command *const *commands, int argc, char **argv, struct err *e);
void cli_fini(struct cli *cli);

#endif
