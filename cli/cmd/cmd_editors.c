/* SPDX-License-Identifier: MIT */
/*
 * cmd_editors.c: fredctl mi, dap and serve: recordings for editors and other debuggers. mi is a drop-in for
 * `gdb --interpreter=mi`; as `fred-gdb` (main.c) it is called with GDB's own options alone. dap runs the adapter, a
 * program of its own (cli/dap), which runs `fredctl mi`. serve listens on a port.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "bridge/serve.h"
#include "client/paths.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "frontend/gdb_args.h"
#include "frontend/gdb_run.h"

/* ---- mi ---- */

static const struct cli_option mi_options[] = {
	{"rec", "REC", "the recording (default: that of the given PROGRAM, else the latest)", .word = WORD_REC},
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{"as-gdb", NULL, "do only what the options say: no MI unless they ask for it"},
	{0},
};

/* Turns off questions, which an editor cannot answer, and turns on what it needs to interrupt a running program. */
static const char *const settings[] = {"set confirm off", "set mi-async on", NULL};

static bool is_file(const char *path)
{
	return path_exists(path) && !path_is_dir(path);
}

/* The recording that is meant. *rec_word: the first word is its name, and not for GDB. */
static char *choose(const struct cli *cli, const struct gdb_args *a, bool *rec_word, struct err *e)
{
	*rec_word = false;
	if (a->pid)
		return err_set(e, ERR_USAGE, "%s: fred-gdb does not attach to a process: fredctl debug -p %s does",
			       "-p", a->pid),
		       NULL;
	if (cli_value(cli, "rec"))
		return paths_recording(cli_value(cli, "rec"), e);
	if (!a->name)
		return paths_recording(NULL, e);
	if (a->program < cli->args.n && !is_file(a->name)) {
		*rec_word = true;
		return paths_recording(a->name, e);
	}
	return paths_recording_of(a->name, e);
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

/* The words that GDB is given: all but the name of a recording. */
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
	.help = "stand in for gdb in an editor: GDB/MI on a recording, forwards and backwards",
	.usage = "[--rec REC] [--at POS] [--process N] [--as-gdb] [REC | GDB-OPTION... [PROGRAM]]",
	.options = mi_options,
	.exec = exec_mi,
	.max_args = 10000,
	.word = WORD_REC,
	.foreign = true,
};

/* ---- dap ---- */

static const struct cli_option dap_options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{0},
};

static void add_option(struct strv *argv, const struct cli *cli, const char *name)
{
	if (cli_has(cli, name))
		strv_addf(argv, "--%s=%s", name, cli_value(cli, name));
}

static int exec_dap(struct cli *cli, struct err *e)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *adapter = paths_own(PATHS_DAP, e), *self = realpath("/proc/self/exe", NULL), *rec = NULL;

	if (!adapter || !self)
		return adapter ? err_errno(e, ERR_HOST, "/proc/self/exe") : -1;
	strv_add_all(&argv, (const char *const[]){adapter, self, "mi", NULL});
	if (cli->args.n) {
		rec = paths_recording(cli->args.s[0], e);
		if (!rec)
			return -1;
		strv_addf(&argv, "--rec=%s", rec);
	}
	add_option(&argv, cli, "at");
	add_option(&argv, cli, "process");
	execv(adapter, argv.s);
	return err_errno(e, ERR_HOST, "%s", adapter);
}

const struct cli_command cmd_dap = {
	.name = "dap",
	.help = "speak the Debug Adapter Protocol with an editor, with steps back",
	.usage = "[REC] [--at POS] [--process N]",
	.options = dap_options,
	.exec = exec_dap,
	.max_args = 1,
	.word = WORD_REC,
};

/* ---- serve ---- */

static const struct cli_option serve_options[] = {
	{"rsp", "PORT", "listen on 127.0.0.1:PORT; 0: any free port", .required = true},
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{"once", NULL, "end when the first debugger disconnects"},
	{0},
};

static int exec_serve(struct cli *cli, struct err *e)
{
	uint64_t port;
	json_t *params;
	int code = 0;

	if (str_u64(cli_value(cli, "rsp"), 10, 0, 65535, &port))
		return err_set(e, ERR_USAGE, "--rsp %s: a port is a number up to 65535", cli_value(cli, "rsp"));
	params = rec_arg_at_params(cli, e);
	if (!params || serve_rsp(cli, port, cli_has(cli, "once"), params, &code, e))
		return -1;
	return code;
}

const struct cli_command cmd_serve = {
	.name = "serve",
	.help = "let a GDB connect to a recording, forwards and backwards",
	.usage = "--rsp PORT [REC] [--at POS] [--process N] [--once]",
	.options = serve_options,
	.exec = exec_serve,
	.max_args = 1,
	.word = WORD_REC,
};
