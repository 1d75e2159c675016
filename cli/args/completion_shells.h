/* SPDX-License-Identifier: MIT */
/* completion_shells.h: the completion scripts of the shells that have a file of their own; help.h has the call for all.
 */
#ifndef FRED_ARGS_COMPLETION_SHELLS_H
#define FRED_ARGS_COMPLETION_SHELLS_H

#include <stdio.h>

#include "args/args.h"
#include "base/cleanup.h"
#include "base/str.h"

void completion_zsh(FILE *f, const struct cli_command *const *commands);
void completion_fish(FILE *f, const struct cli_command *const *commands);

#endif
