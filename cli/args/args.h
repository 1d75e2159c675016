/* SPDX-License-Identifier: MIT */
/*
 * args.h: a command is one const struct. The parser, help, `help --json`, completion and the test of
 * the manual all read these tables.
 */
#ifndef FRED_ARGS_ARGS_H
#define FRED_ARGS_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define CLI_MAX_OPTIONS 32

/* What a word on the command line is, for completion. */
enum cli_word { WORD_NONE, WORD_REC, WORD_EXPR, WORD_POS, WORD_DIR, WORD_FILE, WORD_PROGRAM, WORD_COMMAND };

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
	bool joined; /* the value may be left out, and else comes as --name=VALUE only */
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
	bool program; /* the first argument and all behind it are a program and its arguments */
	bool foreign; /* options that are not its own are another program's, and arguments like any */
	bool hidden;
};

/* A parsed command line. */
struct cli {
	const struct cli_command *command;
	bool json, quiet, help;
	bool background; /* signals are for someone else in this process */
	unsigned verbose;
	struct strv args;
	struct strv gdb; /* GDB's own options, as they came, for it */
	bool dashes; /* "--" stood before the first of them */
	struct strv values[CLI_MAX_OPTIONS]; /* by index into command->options */
};

/* All commands, ended by NULL. */
const struct cli_command *const *cli_commands(void);
const struct cli_command *cli_command_find(const char *name);
/* -1 with ERR_USAGE: there is no such command, and what was perhaps meant. */
int cli_unknown_command(const char *word, struct err *e);
/* The options that every command takes, ended by a NULL name. */
const struct cli_option *cli_global_options(void);

/* The value of an option; NULL if it was not given. A name that the command has not aborts. */
const char *cli_value(const struct cli *cli, const char *name);
const struct strv *cli_values(const struct cli *cli, const char *name);
bool cli_has(const struct cli *cli, const char *name);

/* ERR_USAGE for wrong command lines. Zeroes *cli first; cli_fini in any case. */
int cli_parse(struct cli *cli, int argc, char **argv, struct err *e);
void cli_fini(struct cli *cli);

#endif
