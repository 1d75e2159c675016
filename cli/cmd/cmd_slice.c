/* SPDX-License-Identifier: MIT */
/* cmd_slice.c: fredctl slice. */
#include <stdio.h>

#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "client/row_lines.h"
#include "cmd/commands.h"

static const struct cli_option options[] = {
	{"to", "POS", "the position before the sliced statement", .word = WORD_POS, .required = true},
	{"from", "POS", "where the window begins (start)", .word = WORD_POS},
	{"insn", NULL, "list executed instructions instead of lines"},
	{"control", NULL, "include the conditions under which they were executed"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

static void print_place(const json_t *o)
{
	const char *file = out_str(o, "file", NULL);

	fputs(out_str(o, "function", "??"), stdout);
	if (file)
		printf(" at %s:%lld", file, (long long)out_int(o, "line"));
}

static void print_insn(void *ctx, const json_t *row)
{
	const struct cli *cli = ctx;

	if (cli->json)
		return;
	printf("%-26s thread %-3lld %s  %-36s ", out_str(row, "at", "?"), (long long)out_int(row, "thread"),
	       out_str(row, "pc", "?"), out_str(row, "code", "?"));
	print_place(row);
	putchar('\n');
}

static void print_lines(const json_t *list)
{
	json_t *l;
	size_t k;

	json_array_foreach((json_t *)list, k, l)
	{
		printf("%-26s ", out_str(l, "at", "?"));
		print_place(l);
		printf("\t%s\n", out_str(l, "text", ""));
	}
}

static void print_share(const char *what, const json_t *r)
{
	long long in = (long long)out_int(json_object_get(r, "slice"), what),
		  all = (long long)out_int(json_object_get(r, "window"), what);

	printf("%s of the window in the slice: %lld of %lld (%.1f %%)\n", what, in, all,
	       all ? 100.0 * (double)in / (double)all : 0.0);
}

static int call(const struct cli *cli, json_t *params, struct err *e)
{
	struct row_lines rows = {.row = print_insn, .ctx = (void *)cli, .json = cli->json};
	json_auto_t *r = NULL;

	if (row_lines_call(&rows, cli, "slice", params, &r, e))
		return -1;
	if (cli->json)
		return out_json(r, e);
	text_notes(cli, r);
	if (!cli_has(cli, "insn"))
		print_lines(json_object_get(r, "lines"));
	if (!cli->quiet) {
		print_share("instructions", r);
		print_share("lines", r);
		print_share("bytes", r);
	}
	return 0;
}

static int exec_slice(struct cli *cli, struct err *e)
{
	size_t first;
	json_t *params = rec_arg_add_process(rec_arg_params(cli, 0, 0, &first, e), cli, e);

	if (!params)
		return -1;
	rec_arg_option(params, cli, "from", "from");
	rec_arg_option(params, cli, "to", "to");
	rec_arg_flag(params, cli, "insn");
	rec_arg_flag(params, cli, "control");
	return call(cli, params, e);
}

const struct cli_command cmd_slice = {
	.name = "slice",
	.help = "list the lines that computed the operands of a statement: its dynamic slice in a part of a recording",
	.usage = "[REC] --to POS [--from POS] [--insn] [--control] [--process N]",
	.options = options,
	.exec = exec_slice,
	.max_args = 1,
	.word = WORD_REC,
};
