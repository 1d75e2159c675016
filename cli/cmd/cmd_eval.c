/* SPDX-License-Identifier: MIT */
/* cmd_eval.c: fredctl eval and backtrace: a look at one position. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static const struct cli_option options[] = {
	{"at", "POS", "the position", .word = WORD_POS, .required = true},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* Values go to standard output; why an expression has no value goes to standard error. */
static void print_values(const json_t *r)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, "values"), i, v)
	{
		const char *error = out_str(v, "error", NULL), *expr = out_str(v, "expr", "?");

		if (!error)
			printf("%s = %s\n", expr, out_str(v, "value", "?"));
		fflush(stdout);
		if (error)
			fprintf(stderr, "fred: %s: %s\n", expr, error);
	}
}

/* The highest exit code of all: a wrong expression has a higher one than an expression without a value here. */
static int exit_code(const json_t *r)
{
	int code = 0;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, "values"), i, v)
	{
		const char *kind = out_str(v, "kind", NULL);

		if (kind && err_exit_code(err_kind_from_name(kind)) > code)
			code = err_exit_code(err_kind_from_name(kind));
	}
	return code;
}

static int exec_eval(struct cli *cli, struct err *e)
{
	json_auto_t *result = NULL;
	json_t *params, *exprs;
	size_t first;

	params = rec_arg_add_at(rec_arg_params(cli, 1, ~(size_t)0, &first, e), cli, e);
	if (!params)
		return -1;
	exprs = json_array();
	for (size_t i = first; i < cli->args.n; i++)
		json_array_append_new(exprs, json_text(cli->args.s[i], strlen(cli->args.s[i])));
	json_object_set_new(params, "exprs", exprs);
	if (client_run(cli, "eval", params, &result, e))
		return -1;
	if (!cli->json)
		print_values(result);
	else if (out_json(result, e))
		return -1;
	return exit_code(result);
}

const struct cli_command cmd_eval = {
	.name = "eval",
	.help = "evaluate expressions at a position",
	.usage = "[REC] --at POS EXPR... [--process N]",
	.options = options,
	.exec = exec_eval,
	.min_args = 1,
	.max_args = ~0u,
	.word = WORD_REC,
};

/* ---- backtrace ---- */

static void print_threads(const struct cli *cli, const json_t *r)
{
	json_t *t;
	size_t i;

	if (!cli->quiet)
		text_position(r);
	json_array_foreach(json_object_get(r, "threads"), i, t)
	{
		const json_t *id = json_object_get(t, "thread");

		printf("%sthread %lld (TID %lld)%s\n", i ? "\n" : "", (long long)out_int(id, "id"),
		       (long long)out_int(id, "tid"),
		       json_is_true(json_object_get(t, "current")) ? ", the one that moved last" : "");
		if (json_object_get(t, "waits"))
			printf("  %s\n", out_str(t, "waits", ""));
		text_frames(json_object_get(t, "backtrace"));
	}
	if (json_object_get(r, "deadlock"))
		printf("\n%s\n", out_str(r, "deadlock", ""));
}

static int exec_backtrace(struct cli *cli, struct err *e)
{
	return client_print(cli, "backtrace", rec_arg_at_params(cli, e), print_threads, NULL, e);
}

const struct cli_command cmd_backtrace = {
	.name = "backtrace",
	.help = "show the call stacks at a position",
	.usage = "[REC] --at POS [--process N]",
	.options = options,
	.exec = exec_backtrace,
	.max_args = 1,
	.word = WORD_REC,
};
