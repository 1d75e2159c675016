/* SPDX-License-Identifier: MIT */
/* cmd_reverse_watch.c: fredctl reverse-watch. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static const struct cli_option options[] = {
	{"good", "POS", "where the expression is good (start)", .word = WORD_POS},
	{"bad", "POS", "where it is bad (end)", .word = WORD_POS},
	{"on-error", "WHAT", "how a position counts at which the expression cannot be evaluated (neither)",
	 "good bad fail"},
	{"last", NULL, "find the last of several transitions, however long that takes"},
	{"first", NULL, "find the first one after the good position"},
	{"nth", "N", "find the Nth one after the good position"},
	{"insn", NULL, "also count transitions that a statement undoes before it ends"},
	{"anywhere", NULL, "if it is true at both ends: search up to the first event at which it is false"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* A value may be text or any JSON. */
static void print_value(const char *label, const json_t *v)
{
	if (json_is_string(v)) {
		printf("%s%s\n", label, json_string_value(v));
	} else if (v) {
		printf("%s", label);
		json_dumpf(v, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
		putchar('\n');
	}
}

static void print_stats(const json_t *s)
{
	if (!json_is_object(s))
		return;
	printf("\n%.2f s: %lld checkpoints (%.2f s), %lld restarts (%.2f s), %lld evaluations (%.2f s)\n",
	       out_real(s, "total_s"), (long long)out_int(s, "checkpoints"), out_real(s, "checkpoint_s"),
	       (long long)out_int(s, "restarts"), out_real(s, "restart_s"), (long long)out_int(s, "evaluations"),
	       out_real(s, "evaluate_s"));
}

static void print(const struct cli *cli, const json_t *r)
{
	const char *reason = out_str(r, "reason", NULL);

	if (!json_is_true(json_object_get(r, "found"))) {
		printf("%s: no transition found%s%s\n", out_str(r, "expr", "?"), reason ? ": " : "",
		       reason ? reason : "");
		return;
	}
	printf("%s turned at ", out_str(r, "expr", "?"));
	text_position(r);
	if (!json_is_true(json_object_get(r, "at_end")) && !out_int(json_object_get(r, "position"), "hits"))
		puts("it is not known which pass of this address it is: there is no --at for it");
	text_location(json_object_get(r, "location"));
	print_value("before: ", json_object_get(r, "before"));
	print_value("after:  ", json_object_get(r, "after"));
	if (json_is_true(json_object_get(r, "may_be_later")))
		puts(json_is_true(json_object_get(r, "bad_at_events"))
			     ? "it is bad at each later event; between two events it may be good for a moment, since "
			       "not every change was examined"
		     : cli_has(cli, "last")
			     ? "there may be later ones: not all that the expression reads could be watched"
			     : "there may be later ones: --last looks for them, however long that takes");
	text_frames(json_object_get(r, "backtrace"));
	if (!cli->quiet)
		print_stats(json_object_get(r, "stats"));
}

/* --last, --first, --nth: at most one of them; --insn with each. */
static int which_transition(json_t *params, const struct cli *cli, struct err *e)
{
	const char *nth = cli_value(cli, "nth");
	uint64_t n = 1;

	if (cli_has(cli, "last") + cli_has(cli, "first") + cli_has(cli, "nth") > 1)
		return err_set(e, ERR_USAGE, "--last, --first and --nth exclude each other");
	if (nth && str_u64(nth, 10, 1, INT64_MAX, &n))
		return err_set(e, ERR_USAGE, "--nth: '%s' is not a number from 1", nth);
	if (nth || cli_has(cli, "first"))
		json_object_set_new(params, "nth", json_integer((json_int_t)n));
	rec_arg_flag(params, cli, "last");
	rec_arg_flag(params, cli, "insn");
	rec_arg_flag(params, cli, "anywhere");
	return 0;
}

static int exec_reverse_watch(struct cli *cli, struct err *e)
{
	const char *expr;
	json_t *params;
	size_t first;

	params = rec_arg_params(cli, 1, 1, &first, e);
	if (!params)
		return -1;
	expr = cli->args.s[first];
	json_object_set_new(params, "expr", json_text(expr, strlen(expr)));
	rec_arg_option(params, cli, "good", "good");
	rec_arg_option(params, cli, "bad", "bad");
	rec_arg_option(params, cli, "on-error", "on_error");
	if (!which_transition(params, cli, e))
		return client_print(cli, "reverse_watch", rec_arg_add_process(params, cli, e), print, "found", e);
	json_decref(params);
	return -1;
}

const struct cli_command cmd_reverse_watch = {
	.name = "reverse-watch",
	.help = "find the statement that turned an expression from good to bad",
	.usage = "[REC] EXPR [--good POS] [--bad POS] [--on-error good|bad|fail] [--last|--first|--nth N] [--insn] "
		 "[--anywhere] [--process N]",
	.options = options,
	.exec = exec_reverse_watch,
	.min_args = 1,
	.max_args = 2,
	.word = WORD_REC,
};
