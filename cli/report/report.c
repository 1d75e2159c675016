/* SPDX-License-Identifier: MIT */
/* report.c: see report.h. What the kinds share. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "hunt/spec.h"

static int report_json(struct buf *out, const json_t *report, struct err *e)
{
	(void)e;
	json_add_to(out, report);
	buf_add_char(out, '\n');
	return 0;
}

static const struct {
	const char *name;
	int (*make)(struct buf *out, const json_t *report, struct err *e);
} kinds[] = {
	{"text", report_text},	     {"json", report_json},	{"junit", report_junit}, {"sarif", report_sarif},
	{"markdown", report_markdown}, {"github", report_github}, {"html", report_html},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *report_kinds(void)
{
	return "text json junit sarif markdown github html";
}

static int find(const char *text, const char **file, struct err *e)
{
	size_t len = strcspn(text, "=");

	*file = text + len + 1;
	if (text[len] && **file)
		for (unsigned i = 0; i < KINDS; i++)
			if (strlen(kinds[i].name) == len && !strncmp(kinds[i].name, text, len))
				return (int)i;
	return err_set(e, ERR_USAGE, "--report: '%s' is not KIND=FILE with a kind of: %s", text, report_kinds());
}

int report_check(const char *text, struct err *e)
{
	const char *file;

	return find(text, &file, e) < 0 ? -1 : 0;
}

int report_write(const char *text, const json_t *report, struct err *e)
{
	cleanup_buf struct buf b = {0};
	const char *file;
	int k = find(text, &file, e);

	if (k < 0 || kinds[k].make(&b, report, e))
		return -1;
	if (str_eq(file, "-")) {
		fwrite(b.data, 1, b.len, stdout);
		return 0;
	}
	if (!write_file_atomic(file, b.data, b.len, 0644, e))
		return 0;
	e->kind = ERR_HOST;
	return err_wrap(e, "--report %s", text);
}

const char *report_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

long long report_int(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

char *report_place(const json_t *l)
{
	const char *file = report_str(l, "file"), *function = report_str(l, "function");

	if (!*function && !*file)
		return NULL;
	return *file ? str_fmt("%s at %s:%lld", *function ? function : "?", file, report_int(l, "line")) : xstrdup(function);
}

/* What explain says of it is more exact than what the run looked like. */
char *report_title(const json_t *group)
{
	const char *seen = report_str(json_object_get(group, "fail"), "text"), *text = report_str(json_object_get(group, "failure"), "text");

	return *text ? xstrdup(text) : xstrdup(*seen ? seen : "it failed");
}

char *report_rate(const json_t *group, const json_t *report)
{
	const json_t *runs = json_object_get(report, "runs");
	long long n = report_int(runs, "done") - report_int(runs, "skipped"), assumed = report_int(group, "assumed");
	cleanup_free char *more = assumed ? str_fmt("; %lld of them only by the same signs", assumed) : xstrdup("");

	return str_fmt("%lld of %lld run%s (%.3g %%%s)", report_int(group, "count"), n, n == 1 ? "" : "s",
		       100 * json_number_value(json_object_get(group, "rate")), more);
}

char *report_program(const json_t *report)
{
	struct strv argv = {0};
	json_t *word;
	char *text;
	size_t i;

	json_array_foreach(json_object_get(report, "program"), i, word)
		strv_add(&argv, json_string_value(word));
	text = hunt_command_text(&argv);
	strv_fini(&argv);
	return text ? text : xstrdup("");
}

static const char *why_stopped(const char *why)
{
	static const char *const texts[][2] = {{"budget", "; the time was up"},
					       {"interrupted", "; it was interrupted"},
					       {"error", "; fred could not go on"}};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (str_eq(why, texts[i][0]))
			return texts[i][1];
	return "";
}

char *report_summary(const json_t *report)
{
	const json_t *runs = json_object_get(report, "runs");
	cleanup_free char *time = hunt_duration_text(json_number_value(json_object_get(report, "seconds")));
	size_t groups = json_array_size(json_object_get(report, "groups"));
	cleanup_free char *skipped = report_int(runs, "skipped") ? str_fmt(", %lld left out", report_int(runs, "skipped")) : xstrdup("");

	return str_fmt("%lld run%s in %s: %lld failed, %lld passed%s; %zu cause%s%s", report_int(runs, "done"), report_int(runs, "done") == 1 ? "" : "s", time,
		       report_int(runs, "failed"), report_int(runs, "passed"), skipped, groups, groups == 1 ? "" : "s",
		       why_stopped(report_str(report, "stopped")));
}
