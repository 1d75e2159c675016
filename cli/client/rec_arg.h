/* SPDX-License-Identifier: MIT */
/* rec_arg.h: a command's optional argument REC, which precedes the others, and parameters for methods of the daemon. */
#ifndef FRED_CLIENT_REC_ARG_H
#define FRED_CLIENT_REC_ARG_H

#include <jansson.h>

#include "args/args.h"
#include "base/err.h"

/*
 * The recording of a command line whose arguments are [REC] and then at least `rest` and at most
 * `most` others: REC is there if there are more than `most`, or if the first argument names a recording
 * and enough others follow. *first: the index of the first other argument. malloc'd; NULL: ERR_USAGE.
 */
char *rec_arg(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e);
/*
 * The recording of a command whose only argument is [REC], opened and compared with its manifest; a note says if it is
 * not complete. rec_free; NULL with e set.
 */
struct rec;
struct rec *rec_arg_open(const struct cli *cli, struct err *e);
/* {"good": PATH, "bad": PATH} of the two recordings that are the arguments, or NULL. */
json_t *rec_arg_pair(const struct cli *cli, struct err *e);
/* {"rec": PATH} of a command line as for rec_arg, or NULL. */
json_t *rec_arg_params(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e);
/* The same with "depth", the number of --depth, if that was given; NULL also if it is not from 1 to 1000. */
json_t *rec_arg_depth_params(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e);
/* {"rec": PATH, "at": POS, "process": N} of a command whose only argument is [REC], as far as given, or NULL. */
json_t *rec_arg_at_params(const struct cli *cli, struct err *e);
/* Adds the option's value under key if it was given. */
void rec_arg_option(json_t *params, const struct cli *cli, const char *option, const char *key);
/* Adds option: true if the option was given. */
void rec_arg_flag(json_t *params, const struct cli *cli, const char *option);
/*
 * Takes params (NULL gives NULL) and returns them with "process", the number of --process, which may be a PID or a
 * name, if it was given; NULL: there is no such process.
 */
json_t *rec_arg_add_process(json_t *params, const struct cli *cli, struct err *e);
/* The same for "at" and "process". */
json_t *rec_arg_add_at(json_t *params, const struct cli *cli, struct err *e);
/*
 * {"rec": PATH, "at": POS, "process": N} of the process that --pid names, which is being recorded; without --at, "at"
 * is its end. NULL: it is not being recorded.
 */
json_t *rec_arg_pid_params(const struct cli *cli, struct err *e);
/* The option --process. */
#define REC_ARG_PROCESS_OPTION                                                                                         \
	{                                                                                                              \
		"process", "N", "the process, by number, PID or name (the one that failed)"                            \
	}

#endif
