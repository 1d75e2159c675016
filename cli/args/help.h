/* SPDX-License-Identifier: MIT */
/* help.h: help texts and completion, made from the tables of commands. */
#ifndef FRED_ARGS_HELP_H
#define FRED_ARGS_HELP_H

#include <jansson.h>
#include <stdio.h>

#include "args/args.h"

/* All commands, one line each. */
void help_overview(FILE *f, const struct cli_command *const *commands);
/* Usage and options of one command. */
void help_command(FILE *f, const struct cli_command *c);
/* {commands: [...], options: [...]}; new reference. */
json_t *help_json(const struct cli_command *const *commands);
/* The completion script for a shell: bash, zsh or fish; NULL means bash. ERR_USAGE: there is none. */
int completion_print(FILE *f, const char *shell, const struct cli_command *const *commands, struct err *e);

#endif
