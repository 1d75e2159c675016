/* SPDX-License-Identifier: MIT */
/* cmd_replay.c: fredctl replay. */
#include <stdio.h>

#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static const struct cli_option options[] = {
	{"until", "POS", "stop there instead of at the end", .word = WORD_POS},
	{"output", NULL, "print the program's output"},
	{"linear", NULL, "run one thread at a time, even where several could run"},
	{"verify", "WHAT",
	 "exit with 1, not 70, if the replay differs; memory: also compare memory with an earlier replay's",
	 .choices = "memory", .joined = true},
	REC_ARG_PROCESS_OPTION,
	{0},
};

static void print_memory(const json_t *m)
{
	long long all = out_int(m, "positions"), compared = out_int(m, "compared");

	if (compared)
		printf("memory and registers at %lld positions: the same as in an earlier replay\n", compared);
	if (all > compared)
		printf("memory and registers at %lld positions: stored, for comparison with later replays\n",
		       all - compared);
}

static void print(const struct cli *cli, const json_t *r)
{
	const json_t *position = json_object_get(r, "position");

	if (cli->quiet)
		return;
	if (position) {
		printf("replayed process %lld to ", (long long)out_int(r, "process"));
		text_position(r);
		return;
	}
	printf("replayed %lld events of %lld process%s in %.2f s: all as recorded\n", (long long)out_int(r, "events"),
	       (long long)out_int(r, "processes"), out_int(r, "processes") == 1 ? "" : "es", out_real(r, "wall_s"));
	print_memory(json_object_get(r, "memory"));
	if (cli->verbose)
		printf("%lld in parallel, %lld linear\n", (long long)out_int(r, "parallel"),
		       (long long)(out_int(r, "processes") - out_int(r, "parallel")));
}

static int exec_replay(struct cli *cli, struct err *e)
{
	json_auto_t *result = NULL;
	json_t *params;
	size_t first;

	params = rec_arg_params(cli, 0, 0, &first, e);
	if (!params)
		return -1;
	rec_arg_option(params, cli, "until", "until");
	rec_arg_flag(params, cli, "output");
	rec_arg_flag(params, cli, "verify");
	if (cli_has(cli, "verify") && *cli_value(cli, "verify"))
		json_object_set_new(params, "memory", json_true());
	rec_arg_flag(params, cli, "linear");
	params = rec_arg_add_process(params, cli, e);
	if (!params || client_run(cli, "replay", params, &result, e))
		return -1;
	if (json_object_get(result, "warning"))
		out_note(cli, "%s", out_str(result, "warning", ""));
	if (cli->json && out_json(result, e))
		return -1;
	if (!cli->json && !cli_has(cli, "output"))
		print(cli, result);
	return json_is_false(json_object_get(result, "verified")) ? 1 : 0;
}

const struct cli_command cmd_replay = {
	.name = "replay",
	.help = "replay a recording and check every event",
	.usage = "[REC] [--until POS] [--output] [--verify[=memory]] [--linear] [--process N]",
	.options = options,
	.exec = exec_replay,
	.max_args = 1,
	.word = WORD_REC,
};
