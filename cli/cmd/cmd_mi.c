/* SPDX-License-Identifier: MIT */
/*
 * cmd_mi.c: fredctl mi: a drop-in for `gdb --interpreter=mi`, with a recording behind it. As `fred-gdb` (main.c)
 * it is called with GDB's own options alone.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "cmd/commands.h"
#include "frontend/gdb_args.h"
#include "frontend/gdb_run.h"
#include "client/paths.h"
#include "client/rec_arg.h"
#include "client/recof.h"

static const struct cli_option options[] = {
	{"rec", "REC", "this recording (else that of the program that is named, else the last one)", .word = WORD_REC},
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{"as-gdb", NULL, "only what the options say: no MI unless they ask for it"},
	{0},
};

/* What an editor cannot answer, and what it needs to interrupt a program that runs. */
static const char *const settings[] = {"set confirm off", "set mi-async on", NULL};

static bool is_file(const char *path)
{
	return path_exists(path) && !path_is_dir(path);
}

/* The recording that is meant. *rec_word: the first word is its name, and not for GDB. */
static char *choose(const struct cli *cli, const struct gdb_args *a, bool *rec_word, struct err *e)
{
	*rec_word = false;
	if (cli_value(cli, "rec"))
		return paths_recording(cli_value(cli, "rec"), e);
	if (!a->name)
		return paths_recording(NULL, e);
	if (a->program < cli->args.n && !is_file(a->name)) {
		*rec_word = true;
		return paths_recording(a->name, e);
	}
	return recof_program(a->name, e);
}

static json_t *params_of(const struct cli *cli, const struct gdb_args *a, bool *rec_word, struct err *e)
{
	cleanup_free char *rec = choose(cli, a, rec_word, e);

	return rec_arg_add_at(rec ? json_pack("{s:o}", "rec", json_text(rec, strlen(rec))) : NULL, cli, e);
}

static bool speaks_mi(const struct cli *cli, const struct gdb_args *a)
{
	return a->mi || (!a->interpreter && !cli_has(cli, "as-gdb"));
}

/* What GDB is given: all but the name of a recording. */
static void words_for_gdb(const struct cli *cli, const struct gdb_args *a, bool rec_word, struct strv *words)
{
	if (!a->interpreter && !cli_has(cli, "as-gdb"))
		strv_add(words, "--interpreter=mi");
	for (size_t i = 0; i < cli->args.n; i++)
		if (!rec_word || i != a->program)
			strv_add(words, cli->args.s[i]);
}

static int only_tell(const struct cli *cli)
{
	cleanup_strv struct strv argv = {0};

	strv_add(&argv, "gdb");
	strv_add_all(&argv, (const char *const *)cli->args.s);
	execvp(argv.s[0], argv.s);
	fprintf(stderr, "fred: cannot start gdb: apt-get install gdb\n");
	return 77;
}

static int exec_mi(struct cli *cli, struct err *e)
{
	cleanup_strv struct strv words = {0};
	struct gdb_run how = {.args = &words, .settings = settings};
	struct gdb_args a;
	struct bridge b;
	bool rec_word;
	json_t *params;
	int code = 0, r;

	gdb_args_read(&cli->args, &a);
	if (a.only_tells)
		return only_tell(cli);
	params = params_of(cli, &a, &rec_word, e);
	if (!params)
		return -1;
	words_for_gdb(cli, &a, rec_word, &words);
	how.mi = speaks_mi(cli, &a);
	cli->quiet |= how.mi; /* a progress bar on the editor's terminal would be in the middle of MI */
	signal(SIGPIPE, SIG_IGN);
	r = bridge_start(&b, cli, params, &code, e);
	if (!r)
		r = gdb_run(&b, &how, &code, e);
	bridge_end(&b);
	return r < 0 ? -1 : code;
}

const struct cli_command cmd_mi = {
	.name = "mi",
	.help = "a gdb for editors: GDB/MI on a recording, forwards and backwards",
	.usage = "[--rec REC] [--at POS] [--process N] [--as-gdb] [REC | GDB-OPTION... [PROGRAM]]",
	.options = options,
	.exec = exec_mi,
	.max_args = 10000,
	.word = WORD_REC,
	.foreign = true,
};
