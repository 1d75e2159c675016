/* SPDX-License-Identifier: MIT */
/* summary.c: see summary.h. */
#include "report/summary.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "hunt/spec.h"

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
	return *file ? str_fmt("%s at %s:%lld", *function ? function : "?", file, report_int(l, "line"))
		     : xstrdup(function);
}

/* The description that explain gives is more exact than that of the run's end. */
char *report_title(const json_t *group)
{
	const char *seen = report_str(json_object_get(group, "fail"), "text"),
		   *text = report_str(json_object_get(group, "failure"), "text");

	return *text ? xstrdup(text) : xstrdup(*seen ? seen : "it failed");
}

bool report_is_check(const json_t *o)
{
	return *report_str(o, "check") != 0;
}

char *report_rate(const json_t *group, const json_t *report)
{
	const json_t *runs = json_object_get(report, "runs");
	long long n = report_int(runs, "done") - report_int(runs, "skipped"), assumed = report_int(group, "assumed"),
		  count = report_int(group, "count");
	cleanup_free char *more = assumed ? str_fmt("; %lld of them only look the same", assumed) : xstrdup("");

	if (report_is_check(group))
		return count > 1 ? str_fmt("%lld times", count) : xstrdup("once");
	return str_fmt("%lld of %lld run%s (%.3g %%%s)", count, n, n == 1 ? "" : "s",
		       100 * json_number_value(json_object_get(group, "rate")), more);
}

char *report_program(const json_t *report)
{
	struct strv argv = {0};
	json_t *word;
	char *text;
	size_t i;

	json_array_foreach(json_object_get(report, "program"), i, word) strv_add(&argv, json_string_value(word));
	text = hunt_command_text(&argv);
	strv_fini(&argv);
	return text ? text : xstrdup("");
}

static const char *why_stopped(const char *why)
{
	static const char *const texts[][2] = {{"budget", "; the time was used up"},
					       {"interrupted", "; it was interrupted"},
					       {"error", "; fred could not continue"}};

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
	cleanup_free char *skipped =
		report_int(runs, "skipped") ? str_fmt(", %lld left out", report_int(runs, "skipped")) : xstrdup("");

	if (report_is_check(report))
		return str_fmt("check %s: %zu finding%s", report_str(report, "check"), groups, groups == 1 ? "" : "s");
	return str_fmt("%lld run%s finished in %s: %lld failed, %lld passed%s; %zu cause%s%s", report_int(runs, "done"),
		       report_int(runs, "done") == 1 ? "" : "s", time, report_int(runs, "failed"),
		       report_int(runs, "passed"), skipped, groups, groups == 1 ? "" : "s",
		       why_stopped(report_str(report, "stopped")));
}
