/* SPDX-License-Identifier: MIT */
/* cmd_trace.c: fredctl trace. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/str.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "client/row_lines.h"
#include "cmd/commands.h"
#include "report/chrome.h"

static const struct cli_option options[] = {
	{"calls", NULL, "the calls, as a tree for each thread"},
	{"lines", NULL, "the lines of source"},
	{"insn", NULL, "the instructions"},
	{"memory", NULL, "the loads and stores"},
	{"from", "POS", "where to begin (start)", .word = WORD_POS},
	{"to", "POS", "where to end (end)", .word = WORD_POS},
	{"all", NULL, "also list code of libc and the loader"},
	{"limit", "N", "list at most N entries (100000)"},
	{"chrome", "FILE", "write the calls to a file for Perfetto, or Chrome's tracing page", .word = WORD_FILE},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* Where the rows go. */
struct sink {
	const struct cli *cli;
	struct chrome chrome;
	bool to_chrome;
	json_int_t thread; /* the thread of the last row; 0: there was none */
};

/* ---- rows as text ---- */

static void print_where(const json_t *row)
{
	const char *file = out_str(row, "file", NULL);

	fputs(out_str(row, "function", "??"), stdout);
	if (file)
		printf(" at %s:%lld", file, (long long)out_int(row, "line"));
}

static void print_row(struct sink *s, const json_t *row)
{
	const char *kind = out_str(row, "kind", ""), *at = out_str(row, "at", "?");
	json_int_t thread = out_int(row, "thread");

	if (str_eq(kind, "segment") || str_eq(kind, "return"))
		return;
	if (thread != s->thread)
		printf("%sthread %lld%s\n", out_style(OUT_BOLD), (long long)thread, out_style(OUT_PLAIN));
	s->thread = thread;
	printf("%-26s ", at);
	if (str_eq(kind, "call")) {
		printf("%*s%s  (", (int)out_int(row, "depth") * 2, "", out_str(row, "callee", "??"));
		print_where(row);
		putchar(')');
	} else if (str_eq(kind, "line")) {
		print_where(row);
		printf("\t%s", out_str(row, "text", ""));
	} else if (str_eq(kind, "insn")) {
		printf("%s  %-36s ", out_str(row, "pc", "?"), out_str(row, "code", "?"));
		print_where(row);
	} else {
		printf("%-14s %s, %lld byte%s  ", kind, out_str(row, "address", "?"), (long long)out_int(row, "bytes"),
		       out_int(row, "bytes") == 1 ? "" : "s");
		print_where(row);
	}
	putchar('\n');
}

static void take_row(void *ctx, const json_t *row)
{
	struct sink *s = ctx;

	if (s->to_chrome)
		chrome_row(&s->chrome, row);
	else if (!s->cli->json)
		print_row(s, row);
}

static int call(struct sink *s, json_t *params, struct err *e)
{
	struct row_lines rows = {.row = take_row, .ctx = s, .json = s->cli->json};
	json_auto_t *result = NULL;

	if (row_lines_call(&rows, s->cli, "trace", params, &result, e))
		return -1;
	if (s->cli->json)
		return out_json(result, e);
	text_notes(s->cli, result);
	if (s->cli->verbose)
		out_note(s->cli, "%lld instructions, %.2f s",
			 (long long)out_int(json_object_get(result, "stats"), "instructions"),
			 out_real(json_object_get(result, "stats"), "total_s"));
	return 0;
}

/* ---- the command line ---- */

static int what_of(const struct cli *cli, const char **what, struct err *e)
{
	static const char *const names[] = {"calls", "lines", "insn", "memory"};

	*what = NULL;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		if (!cli_has(cli, names[k]))
			continue;
		if (*what)
			return err_set(e, ERR_USAGE, "trace: --%s or --%s, not both", *what, names[k]);
		*what = names[k];
	}
	if (cli_has(cli, "chrome") && *what && !str_eq(*what, "calls"))
		return err_set(e, ERR_USAGE, "trace --chrome: a file for Perfetto has calls, not what --%s lists",
			       *what);
	if (!*what && cli_has(cli, "chrome"))
		*what = "calls";
	return *what ? 0 : err_set(e, ERR_USAGE, "trace: one of --calls, --lines, --insn and --memory is needed");
}

static int exec_trace(struct cli *cli, struct err *e)
{
	const char *limit = cli_value(cli, "limit"), *what, *chrome = cli_value(cli, "chrome");
	struct sink s = {.cli = cli};
	json_t *params;
	uint64_t n = 0;
	size_t first;
	int r;

	if (limit && str_u64(limit, 10, 1, INT64_MAX, &n))
		return err_set(e, ERR_USAGE, "--limit: '%s' is not a number of entries", limit);
	if (what_of(cli, &what, e))
		return -1;
	params = rec_arg_add_process(rec_arg_params(cli, 0, 0, &first, e), cli, e);
	if (!params)
		return -1;
	json_object_set_new(params, "what", json_string(what));
	rec_arg_flag(params, cli, "all");
	rec_arg_option(params, cli, "from", "from");
	rec_arg_option(params, cli, "to", "to");
	if (n)
		json_object_set_new(params, "limit", json_integer((json_int_t)n));
	if (chrome && chrome_open(&s.chrome, chrome, e)) {
		json_decref(params);
		return -1;
	}
	s.to_chrome = chrome != NULL;
	r = call(&s, params, e);
	if (chrome) {
		struct err why;

		r = chrome_close(&s.chrome, r ? &why : e) ? -1 : r;
	}
	return r;
}

const struct cli_command cmd_trace = {
	.name = "trace",
	.help = "list what was executed in a part of a recording: calls, lines, instructions, or loads and stores",
	.usage = "[REC] --calls|--lines|--insn|--memory [--from POS] [--to POS] [--all] [--limit N] [--chrome FILE] "
		 "[--process "
		 "N]",
	.options = options,
	.exec = exec_trace,
	.max_args = 1,
	.word = WORD_REC,
};
