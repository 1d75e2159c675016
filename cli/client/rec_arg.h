/* SPDX-License-Identifier: MIT */
/* rec_arg.h: the optional REC in front of a command's other arguments. */
#ifndef FRED_CLIENT_REC_ARG_H
#define FRED_CLIENT_REC_ARG_H

#include <jansson.h>

#include "base/err.h"
#include "args/args.h"

/*
 * The recording of a command line whose arguments are [REC] and then at least `rest` and at most
 * `most` others: REC is there if there are more than `most`, or if the first argument names a recording
 * and enough others follow. *first: the index of the first other argument. malloc'd; NULL: ERR_USAGE.
 */
char *rec_arg(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e);
/* {"rec": PATH} of the same, or NULL. */
json_t *rec_arg_params(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e);
/* Of {"rec": PATH}, which it takes (NULL: nor will there be any): with "at" and "process" as far as given, or NULL. */
json_t *rec_arg_add_at(json_t *params, const struct cli *cli, struct err *e);
/* {"rec": PATH, "at": POS, "process": N} of a command whose only argument is [REC], as far as given, or NULL. */
json_t *rec_arg_at_params(const struct cli *cli, struct err *e);
/* Adds the option's value under key if it was given. */
void rec_arg_option(json_t *params, const struct cli *cli, const char *option, const char *key);
/* Adds the number of --process, which may be a PID or a name, as "process" if it was given. */
int rec_arg_process(json_t *params, const struct cli *cli, struct err *e);
/* The option that goes with it. */
#define REC_ARG_PROCESS_OPTION                                                                      \
	{                                                                                          \
		"process", "N", "which process: its number, PID or name (the one that failed)"     \
	}

#endif
