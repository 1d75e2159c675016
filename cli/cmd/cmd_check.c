/* SPDX-License-Identifier: MIT */
/* cmd_check.c: fredctl check. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/paths.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "report/findings.h"
#include "report/report.h"

static const struct cli_option options[] = {
	REC_ARG_PROCESS_OPTION,
	{.name = "suppressions",
	 .metavar = "FILE",
	 .help = "memory: leave out findings that FILE suppresses, in Valgrind's format",
	 .word = WORD_FILE,
	 .repeated = true},
	{.name = "gen-suppressions", .help = "memory: print a suppression for each finding"},
	{.name = "uninitialised",
	 .help = "memory: also find branches, addresses and outputs that depend on memory that was never written"},
	{"report", "KIND=FILE", "also write a report: text, json, junit, sarif, markdown, github, html",
	 .word = WORD_FILE, .repeated = true},
	{0},
};

static void print_deed(const char *what, const json_t *deed)
{
	if (!json_is_object(deed))
		return;
	printf("   %s (--at %s)\n", what, out_str(deed, "at", "?"));
	text_frames(json_object_get(deed, "backtrace"));
}

static void print_finding(size_t number, const json_t *f)
{
	const json_t *pos = json_object_get(f, "position"), *thread = json_object_get(pos, "thread"),
		     *block = json_object_get(f, "block"), *origin = json_object_get(f, "origin");
	bool leak = !strcmp(out_str(f, "kind", ""), "leak");
	long long count = (long long)out_int(f, "count");

	printf("%s%zu. %s%s", out_style(OUT_BOLD), number, out_str(f, "words", "?"), out_style(OUT_PLAIN));
	if (!leak && count > 1)
		printf(" (%lld times)", count);
	putchar('\n');
	text_location(json_object_get(f, "location"));
	printf("   thread %lld, event %lld of %lld (--at %s)\n", (long long)out_int(thread, "id"),
	       (long long)out_int(pos, "event"), (long long)out_int(pos, "events_total"), out_str(f, "at", "?"));
	text_frames(json_object_get(f, "backtrace"));
	if (!leak)
		print_deed("allocated", json_object_get(block, "allocated"));
	print_deed("freed", json_object_get(block, "freed"));
	if (!leak)
		print_deed(strcmp(out_str(origin, "memory", ""), "heap") ? "the frame begins" : "allocated", origin);
	fputs(out_str(f, "suppression", ""), stdout);
	putchar('\n');
}

static void print(const struct cli *cli, const json_t *r)
{
	const json_t *list = json_object_get(r, "findings"), *stats = json_object_get(r, "stats"),
		     *reachable = json_object_get(r, "reachable");
	json_t *f;
	size_t i;

	json_array_foreach((json_t *)list, i, f) print_finding(i + 1, f);
	json_array_foreach(json_object_get(r, "suppressed"), i, f)
		printf("suppressed by %s: %lld\n", out_str(f, "name", "?"), (long long)out_int(f, "count"));
	if (!json_array_size(list))
		puts(json_is_true(json_object_get(r, "clean")) ? "no memory error"
							       : "no memory error in what was examined");
	if (!cli->quiet && out_int(stats, "reused"))
		printf("%lld blocks were allocated where freed blocks had been: accesses to them by old pointers are "
		       "not reported\n",
		       (long long)out_int(stats, "reused"));
	if (!cli->quiet)
		printf("%lld accesses, %lld bytes in %lld blocks allocated and reachable at the end, %.2f s\n",
		       (long long)out_int(stats, "accesses"), (long long)out_int(reachable, "bytes"),
		       (long long)out_int(reachable, "blocks"), out_real(stats, "total_s"));
}

static void print_end(const char *what, const json_t *x)
{
	const json_t *pos = json_object_get(x, "position"), *thread = json_object_get(pos, "thread");

	printf("   %s: %s of %lld byte%s, thread %lld, event %lld of %lld (--at %s)\n", what, out_str(x, "access", "?"),
	       (long long)out_int(x, "bytes"), out_int(x, "bytes") == 1 ? "" : "s", (long long)out_int(thread, "id"),
	       (long long)out_int(pos, "event"), (long long)out_int(pos, "events_total"), out_str(x, "at", "?"));
	text_location(json_object_get(x, "location"));
	text_frames(json_object_get(x, "backtrace"));
}

static void print_race(size_t number, const json_t *f)
{
	const json_t *changes = json_object_get(f, "changes");
	long long count = (long long)out_int(f, "count");

	printf("%s%zu. %s%s", out_style(OUT_BOLD), number, out_str(f, "words", "?"), out_style(OUT_PLAIN));
	if (count > 1)
		printf(" (%lld times)", count);
	putchar('\n');
	print_end("earlier", json_object_get(f, "earlier"));
	print_end("later", json_object_get(f, "later"));
	if (json_is_boolean(changes))
		puts(json_is_true(changes) ? "   the other order would have given another value"
					   : "   the other order would have given the same value, this time");
	if (json_is_false(json_object_get(f, "certain")))
		puts("   their source is not known: they may be atomic operations");
	print_deed("allocated", json_object_get(json_object_get(f, "block"), "allocated"));
	putchar('\n');
}

static void print_races(const struct cli *cli, const json_t *r)
{
	const json_t *list = json_object_get(r, "findings"), *stats = json_object_get(r, "stats");
	json_t *f;
	size_t i;

	json_array_foreach((json_t *)list, i, f) print_race(i + 1, f);
	if (!json_array_size(list))
		puts(json_is_true(json_object_get(r, "clean")) ? "no race" : "no race in what was examined");
	if (!cli->quiet)
		printf("%lld accesses, %lld of %lld events, %.2f s\n", (long long)out_int(stats, "accesses"),
		       (long long)out_int(stats, "checked"), (long long)out_int(stats, "events"),
		       out_real(stats, "total_s"));
}

static const struct {
	const char *what, *method;
	void (*print)(const struct cli *cli, const json_t *r);
} checks[] = {
	{"memory", "check_memory", print},
	{"races", "check_races", print_races},
};

static const char *const of_memory[] = {"uninitialised", "suppressions", "gen-suppressions"};

static int add_suppressions(json_t *params, const struct cli *cli, struct err *e)
{
	const struct strv *files = cli_values(cli, "suppressions");
	cleanup_buf struct buf text = {0};

	for (size_t k = 0; k < files->n; k++) {
		if (read_file(files->s[k], &text, e))
			return -1;
		buf_add_char(&text, '\n');
	}
	if (text.len)
		json_object_set_new(params, "suppressions", json_text(text.data, text.len));
	if (cli_has(cli, "gen-suppressions"))
		json_object_set_new(params, "gen_suppressions", json_true());
	return 0;
}

static bool fills_stdout(const struct cli *cli)
{
	const struct strv *kinds = cli_values(cli, "report");

	for (size_t k = 0; k < kinds->n; k++)
		if (str_ends(kinds->s[k], "=-"))
			return true;
	return false;
}

static int write_reports(const struct cli *cli, const char *rec, const char *what, const json_t *result, struct err *e)
{
	const struct strv *kinds = cli_values(cli, "report");
	json_auto_t *report = kinds->n ? findings_report(rec, what, result, e) : NULL;

	if (kinds->n && !report)
		return -1;
	for (size_t k = 0; k < kinds->n; k++)
		if (report_write(kinds->s[k], report, e))
			return -1;
	return 0;
}

static int exec_check(struct cli *cli, struct err *e)
{
	cleanup_free char *rec = NULL;
	json_auto_t *result = NULL;
	json_t *params;
	size_t i = 0;

	while (i < sizeof(checks) / sizeof(checks[0]) && strcmp(cli->args.s[0], checks[i].what) != 0)
		i++;
	if (i == sizeof(checks) / sizeof(checks[0]))
		return err_set(e, ERR_USAGE, "check '%s': only memory and races can be checked", cli->args.s[0]);
	if (report_check_all(cli_values(cli, "report"), cli->json, e))
		return -1;
	for (size_t k = 0; i && k < sizeof(of_memory) / sizeof(of_memory[0]); k++)
		if (cli_has(cli, of_memory[k]))
			return err_set(e, ERR_USAGE, "--%s is for check memory", of_memory[k]);
	rec = paths_recording(cli->args.n > 1 ? cli->args.s[1] : NULL, e);
	if (!rec)
		return -1;
	params = json_pack("{s:o}", "rec", json_text(rec, strlen(rec)));
	rec_arg_flag(params, cli, "uninitialised");
	if (add_suppressions(params, cli, e)) {
		json_decref(params);
		return -1;
	}
	params = rec_arg_add_process(params, cli, e);
	if (!params || client_run(cli, checks[i].method, params, &result, e) ||
	    (!fills_stdout(cli) && client_show(cli, result, checks[i].print, e)) ||
	    write_reports(cli, rec, checks[i].what, result, e))
		return -1;
	return !json_is_true(json_object_get(result, "clean"));
}

const struct cli_command cmd_check = {
	.name = "check",
	.help = "find memory errors in a recording (accesses outside blocks or to freed ones, bad frees, leaks), "
		"or data races",
	.usage = "memory|races [REC] [--process N] [--uninitialised] [--suppressions FILE]... [--gen-suppressions] "
		 "[--report KIND=FILE]...",
	.options = options,
	.exec = exec_check,
	.min_args = 1,
	.max_args = 2,
	.word = WORD_REC,
	.first = "memory races",
};
