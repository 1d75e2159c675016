/* SPDX-License-Identifier: MIT */
/* report.c: see report.h. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "report/kinds.h"

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
	{"text", report_text},	       {"json", report_json},	  {"junit", report_junit}, {"sarif", report_sarif},
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

int report_check_all(const struct strv *texts, bool json, struct err *e)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (report_check(texts->s[i], e))
			return -1;
		if (json && str_ends(texts->s[i], "=-"))
			return err_set(e, ERR_USAGE,
				       "--report %s: with --json, standard output has the result: name a file",
				       texts->s[i]);
	}
	return 0;
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
