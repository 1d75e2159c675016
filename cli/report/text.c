/* SPDX-License-Identifier: MIT */
/* text.c: reports for people: plain text, and Markdown for a job's summary. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "report/kinds.h"
#include "report/summary.h"

#define FRAMES 12u
#define OUTPUT_LINES 8u

static void add_frames(struct buf *b, const json_t *frames, const char *indent)
{
	json_t *frame;
	size_t i;

	json_array_foreach((json_t *)frames, i, frame)
	{
		cleanup_free char *place = report_place(frame);

		if (i < FRAMES)
			buf_addf(b, "%s#%zu  %s\n", indent, i, place ? place : "?");
	}
	if (json_array_size(frames) > FRAMES)
		buf_addf(b, "%s... %zu more\n", indent, json_array_size(frames) - FRAMES);
}

static void add_value(struct buf *b, const char *label, const json_t *v)
{
	cleanup_free char *other =
		v && !json_is_string(v) && !json_is_null(v) ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (json_is_string(v) || other)
		buf_addf(b, "%s%s\n", label, other ? other : json_string_value(v));
}

static const char *source_of(const json_t *location)
{
	const char *text = report_str(location, "text");

	return text + strspn(text, " \t");
}

/* The chain's steps from the cause to the failure, in the order in which they happened. */
static void add_chain(struct buf *b, const json_t *chain, const char *indent)
{
	for (size_t i = json_array_size(chain); i-- > 0;) {
		const json_t *step = json_array_get(chain, i), *location = json_object_get(step, "location");
		cleanup_free char *place = report_place(location);

		buf_addf(b, "%s%s\n", indent, report_str(step, "words"));
		if (place)
			buf_addf(b, "%s    %s%s%s\n", indent, place, *source_of(location) ? ": " : "",
				 source_of(location));
	}
}

static void add_threads(struct buf *b, const json_t *threads, const char *indent)
{
	cleanup_free char *deeper = str_fmt("%s  ", indent);
	json_t *t;
	size_t i;

	json_array_foreach((json_t *)threads, i, t)
	{
		const char *waits = report_str(t, "waits");

		buf_addf(b, "%sthread %lld%s%s\n", indent, report_int(json_object_get(t, "thread"), "id"),
			 *waits ? " " : "", waits);
		add_frames(b, json_object_get(t, "backtrace"), deeper);
	}
}

/* Is the note about a thread that the list of threads, which are those of the failed process, already describes? */
static bool is_of_thread(const char *note, const json_t *g)
{
	json_int_t process = report_int(json_array_get(json_object_get(g, "chain"), 0), "process");
	json_t *t;
	size_t i;

	json_array_foreach(json_object_get(g, "threads"), i, t)
	{
		cleanup_free char *same =
			str_fmt("process %lld: thread %lld %s", process, report_int(json_object_get(t, "thread"), "id"),
				report_str(t, "waits"));

		if (str_eq(note, same))
			return true;
	}
	return false;
}

/* The notes that were made while the program was recorded. */
static void add_fail_notes(struct buf *b, const json_t *g)
{
	bool shown = json_array_size(json_object_get(g, "threads")) > 1;
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(g, "fail"), "notes"), i,
			   note) if (json_is_string(note) && !(shown && is_of_thread(json_string_value(note), g)))
		buf_addf(b, "   %s\n", json_string_value(note));
}

/* The last lines. */
static const char *tail(const char *text)
{
	const char *p = text + strlen(text);
	unsigned lines = 0;

	while (p > text && lines < OUTPUT_LINES + 1)
		lines += *--p == '\n' && p[1];
	return lines > OUTPUT_LINES ? p + 1 : p;
}

static void add_strings(struct buf *b, const char *label, const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item) if (json_is_string(item))
		buf_addf(b, "%s%s\n", label, json_string_value(item));
}

static void add_cause(struct buf *b, const json_t *g)
{
	const json_t *culprit = json_object_get(g, "culprit");
	cleanup_free char *place = report_place(culprit);
	bool found = json_is_true(json_object_get(g, "found"));

	if (report_is_check(g)) {
		buf_addf(b, "   at %s\n", place ? place : "an unknown place");
		if (*source_of(culprit))
			buf_addf(b, "      %s\n", source_of(culprit));
	} else if (!json_is_true(json_object_get(g, "searched"))) {
		buf_add_str(b, "   its cause has not been looked for yet\n");
	} else if (!json_is_true(json_object_get(json_object_get(g, "best"), "replays"))) {
		buf_add_str(b, "   its replay differs from the recording, so no cause can be named\n");
	} else {
		buf_addf(b, "   %s: %s\n", found ? "cause" : "no cause was found; it failed at",
			 place ? place : "an unknown place");
		if (*source_of(culprit))
			buf_addf(b, "      %s\n", source_of(culprit));
	}
	if (found && *report_str(g, "expr"))
		buf_addf(b, "   %s\n", report_str(g, "expr"));
	add_value(b, "   before: ", json_object_get(g, "before"));
	add_value(b, "   after:  ", json_object_get(g, "after"));
	if (json_is_true(json_object_get(g, "may_be_later")))
		buf_add_str(b, "   there may be later transitions\n");
}

static void add_side(struct buf *b, const char *label, const json_t *side)
{
	cleanup_free char *place = report_place(json_object_get(side, "location"));

	buf_addf(b, "      %s thread %lld: %s%s%s\n", label, report_int(side, "thread_id"), report_str(side, "text"),
		 place ? ", " : "", place ? place : "");
}

static void add_sides(struct buf *b, const char *what, const json_t *sides)
{
	if (!json_is_object(sides))
		return;
	buf_addf(b, "   compared with a run that passed, %s\n", what);
	add_side(b, "here:  ", json_object_get(sides, "bad"));
	add_side(b, "there: ", json_object_get(sides, "good"));
}

/* Where it differs from a run that passed. */
static void add_diff(struct buf *b, const json_t *g)
{
	const json_t *diff = json_object_get(g, "diff"),
		     *rec = json_object_get(json_object_get(g, "best"), "recording");

	add_sides(b, "threads acquired a lock in another order:", json_object_get(diff, "order"));
	add_sides(b, "a thread did something else from here on:", json_object_get(diff, "parts"));
	if (json_is_object(diff) && json_is_string(rec))
		buf_addf(b, "      all of it: fredctl diff %s %s\n", report_str(diff, "good"), json_string_value(rec));
}

static void add_candidates(struct buf *b, const json_t *list)
{
	json_t *v;
	size_t i;

	if (json_array_size(list))
		buf_add_str(
			b,
			"   not certain, the most suspicious first: statements that the failed check depended on:\n");
	json_array_foreach((json_t *)list, i, v)
	{
		const json_t *l = json_object_get(v, "location");
		const char *text = report_str(l, "text");

		buf_addf(b, "      %s at %s:%lld: %s\n", report_str(l, "function"), report_str(l, "file"),
			 report_int(l, "line"), text + strspn(text, " \t"));
	}
}

static void add_best(struct buf *b, const json_t *g)
{
	const json_t *best = json_object_get(g, "best");
	const char *rec = report_str(best, "recording");

	if (!report_is_check(g))
		buf_addf(b, "   run %lld, %s: %s\n", report_int(best, "run"), report_str(best, "sched"),
			 report_str(best, "again"));
	if (!*rec)
		buf_add_str(b, "   its recording was not kept\n");
	else if (*report_str(g, "at"))
		buf_addf(b, "   look: fredctl debug %s --at %s\n", rec, report_str(g, "at"));
	else
		buf_addf(b, "   look: fredctl debug %s\n", rec);
}

static void add_group(struct buf *b, size_t number, const json_t *g, const json_t *report)
{
	cleanup_free char *title = report_title(g), *rate = report_rate(g, report);

	buf_addf(b, "\n%zu. %s: %s\n", number, title, rate);
	add_cause(b, g);
	if (json_array_size(json_object_get(g, "chain")) > 1) {
		buf_add_str(b, report_is_check(g) ? "   how it came to it:\n" : "   from the cause to the failure:\n");
		add_chain(b, json_object_get(g, "chain"), "      ");
		if (*report_str(json_object_get(g, "end"), "text"))
			buf_addf(b, "   the chain ends there: %s\n", report_str(json_object_get(g, "end"), "text"));
	}
	if (json_array_size(json_object_get(g, "backtrace"))) {
		buf_add_str(b, "   stack:\n");
		add_frames(b, json_object_get(g, "backtrace"), "      ");
	}
	add_fail_notes(b, g);
	if (json_array_size(json_object_get(g, "threads")) > 1) {
		buf_add_str(b, "   threads at the end:\n");
		add_threads(b, json_object_get(g, "threads"), "      ");
	}
	add_candidates(b, json_object_get(g, "candidates"));
	add_strings(b, "   note: ", json_object_get(g, "notes"));
	if (!json_is_true(json_object_get(g, "found")))
		add_strings(b, "   error: ", json_object_get(g, "errors"));
	add_diff(b, g);
	add_best(b, g);
}

int report_text(struct buf *out, const json_t *report, struct err *e)
{
	cleanup_free char *program = report_program(report), *summary = report_summary(report);
	json_t *g;
	size_t i;

	(void)e;
	buf_addf(out, "%s: %s\n", program, summary);
	json_array_foreach(json_object_get(report, "groups"), i, g) add_group(out, i + 1, g, report);
	return 0;
}

/* ---- Markdown ---- */

/* Escapes what has a meaning in Markdown or HTML. */
static void add_md(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			buf_add_str(b, "&lt;");
		else if (*s == '&')
			buf_add_str(b, "&amp;");
		else if (strchr("\\`*_{}[]#|>~", *s))
			buf_addf(b, "\\%c", *s);
		else
			buf_add_char(b, *s == '\n' ? ' ' : *s);
	}
}

/* Text as <code>, with the bars escaped that would divide a table. */
static void add_code(struct buf *b, const char *s)
{
	buf_add_str(b, "<code>");
	for (; *s; s++)
		if (strchr("<>&|`*_[]\\", *s))
			buf_addf(b, "&#%d;", *s);
		else
			buf_add_char(b, *s == '\n' ? ' ' : *s);
	buf_add_str(b, "</code>");
}

/* A fence that is longer than any in the text. */
static void add_fenced(struct buf *b, const char *text)
{
	size_t longest = 2, run = 0;
	cleanup_free char *fence = NULL;

	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	fence = xmalloc(longest + 2);
	memset(fence, '`', longest + 1);
	fence[longest + 1] = '\0';
	buf_addf(b, "%stext\n%s%s%s\n\n", fence, text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n", fence);
}

static void add_row(struct buf *b, size_t number, const json_t *g, const json_t *report)
{
	cleanup_free char *title = report_title(g), *rate = report_rate(g, report);
	cleanup_free char *place = report_place(json_object_get(g, "culprit"));

	buf_addf(b, "| %zu | ", number);
	add_md(b, title);
	buf_add_str(b, " | ");
	add_md(b, rate);
	buf_add_str(b, " | ");
	if (place)
		add_code(b, place);
	else
		buf_add_str(b, "not known");
	buf_add_str(b, " |\n");
}

static void add_details(struct buf *b, size_t number, const json_t *g, const json_t *report)
{
	cleanup_free char *title = report_title(g);
	cleanup_buf struct buf text = {0};

	buf_addf(b, "<details><summary>%zu. ", number);
	add_code(b, title);
	buf_add_str(b, "</summary>\n\n");
	add_group(&text, number, g, report);
	add_fenced(b, buf_str(&text) + 1);
	if (*report_str(g, "output")) {
		buf_add_str(b, "The end of its output:\n\n");
		add_fenced(b, tail(report_str(g, "output")));
	}
	buf_add_str(b, "</details>\n\n");
}

int report_markdown(struct buf *out, const json_t *report, struct err *e)
{
	cleanup_free char *program = report_program(report), *summary = report_summary(report);
	json_t *groups = json_object_get(report, "groups"), *g;
	size_t i;

	(void)e;
	buf_add_str(out, "## ");
	add_code(out, program);
	buf_add_str(out, "\n\n");
	add_md(out, summary);
	buf_add_str(out, "\n\n");
	if (!json_array_size(groups))
		return 0;
	buf_add_str(out, "| | failure | runs | cause |\n|---|---|---|---|\n");
	json_array_foreach(groups, i, g) add_row(out, i + 1, g, report);
	buf_add_str(out, "\n");
	json_array_foreach(groups, i, g) add_details(out, i + 1, g, report);
	return 0;
}
