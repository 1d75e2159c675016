/* SPDX-License-Identifier: MIT */
/* cmd_eval.c: fredctl eval. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "client/client.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/rec_arg.h"

static const struct cli_option options[] = {
	{"at", "POS", "the position", .word = WORD_POS, .required = true},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* Values go to standard output; what has none says why on standard error. */
static void print(const json_t *r)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, "values"), i, v) {
		const char *error = out_str(v, "error", NULL), *expr = out_str(v, "expr", "?");

		if (!error)
			printf("%s = %s\n", expr, out_str(v, "value", "?"));
		fflush(stdout);
		if (error)
			fprintf(stderr, "fred: %s: %s\n", expr, error);
	}
}

/* A wrong expression weighs more than one that has no value here. */
static int exit_code(const json_t *r)
{
	int code = 0;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, "values"), i, v) {
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
		print(result);
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
