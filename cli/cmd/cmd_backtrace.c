/* SPDX-License-Identifier: MIT */
/* cmd_backtrace.c: fredctl backtrace. */
#include <stdio.h>

#include "client/client.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"

static const struct cli_option options[] = {
	{"at", "POS", "the position", .word = WORD_POS, .required = true},
	REC_ARG_PROCESS_OPTION,
	{0},
};

static void print(const struct cli *cli, const json_t *r)
{
	json_t *t;
	size_t i;

	if (!cli->quiet)
		text_position(r);
	json_array_foreach(json_object_get(r, "threads"), i, t) {
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
	json_auto_t *result = NULL;
	json_t *params;

	params = rec_arg_at_params(cli, e);
	if (!params)
		return -1;
	if (client_run(cli, "backtrace", params, &result, e))
		return -1;
	if (cli->json)
		return out_json(result, e);
	text_notes(cli, result);
	print(cli, result);
	return 0;
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
