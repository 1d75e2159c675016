/* SPDX-License-Identifier: MIT */
/* cmd_report.c: fredctl report: what a search in a recording finds, as a page or in another form. */
#include "base/cleanup.h"
#include "client/out.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "report/page.h"
#include "report/report.h"

static const struct cli_option options[] = {
	{"html", "FILE", "the page to write, with the timeline of all threads", .word = WORD_FILE},
	{"expr", "EXPR", "search for this with reverse-watch (default: what explain finds)", .word = WORD_EXPR},
	{"report", "KIND=FILE", "another kind: text, json, junit, sarif, markdown, github, html", .word = WORD_FILE,
	 .repeated = true},
	{0},
};

static int exec_report(struct cli *cli, struct err *e)
{
	const struct strv *kinds = cli_values(cli, "report");
	const char *html = cli_value(cli, "html");
	cleanup_free char *rec = NULL, *page = html ? str_fmt("html=%s", html) : NULL;
	json_auto_t *report = NULL;
	size_t first;

	if (report_check_all(kinds, cli->json, e))
		return -1;
	if (html && report_check(page, e))
		return -1;
	if (cli->json && str_eq(html, "-"))
		return err_set(e, ERR_USAGE, "--html -: with --json, standard output has the result: name a file");
	rec = rec_arg(cli, 0, 0, &first, e);
	if (!rec)
		return -1;
	report = page_of_recording(rec, cli_value(cli, "expr"), e);
	if (!report || (html && report_write(page, report, e)))
		return -1;
	for (size_t i = 0; i < kinds->n; i++)
		if (report_write(kinds->s[i], report, e))
			return -1;
	if (cli->json)
		return out_json(report, e);
	return html || kinds->n ? 0 : report_write("text=-", report, e);
}

const struct cli_command cmd_report = {
	.name = "report",
	.help = "search a recording, and write an HTML page about the result",
	.usage = "[REC] --html FILE [--expr EXPR] [--report KIND=FILE]...",
	.options = options,
	.exec = exec_report,
	.max_args = 1,
	.word = WORD_REC,
};
