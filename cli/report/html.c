/* SPDX-License-Identifier: MIT */
/*
 * html.c: the page: page.html with a JSON object in it: {report, summary, titles, details: [by group, or null]}. A
 * detail is read from the group's recording:
 *
 *   threads [{id, tid}], names [text], total, seconds
 *   events   base64; of each event, varints: thread, name, 100 ns since the one before
 *   marks    [{event, kind ("cause", "step", "failure", "checkpoint"), text, thread}]
 *   values   [{event, text}]
 *   sources  {"FILE:LINE": {first, lines}}
 *
 * Everything that the page shows is in it: it loads nothing.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "describe/describe.h"
#include "hunt/tool.h"
#include "reclog/procs.h"
#include "reclog/sources.h"
#include "reclog/timeline.h"
#include "report/kinds.h"
#include "report/summary.h"
#include "wire/base64.h"

#define DETAILS 8u /* groups whose recordings are shown; the others as text */
#define AROUND 6 /* lines of source shown before and after one */
/* how many positions an expression is evaluated at, besides those before and after its transition */
#define VALUES 8u
#define CHECKPOINTS 1000u
#define NAMES 4096u

static const char page[] =
#include "page.html.inc"
	;

/* ---- events ---- */

struct names {
	uint32_t key[NAMES]; /* of each; kind, and the number of a system call */
	unsigned n;
	json_t *list;
};

static unsigned name_of(struct names *s, const struct reader_event *ev)
{
	uint64_t nr = ev->rec.kind == RLOG_SYS && ev->rec.nops ? ev->rec.op[0] : 0;
	uint32_t key = (uint32_t)(nr << 8 | ev->rec.kind);
	const char *name;
	unsigned i;

	for (i = 0; i < s->n; i++)
		if (s->key[i] == key)
			return i;
	if (s->n == NAMES)
		return 0;
	name = ev->rec.kind == RLOG_SYS ? describe_syscall_name(nr) : reader_kind(ev->rec.kind)->name;
	s->key[s->n++] = key;
	json_array_append_new(s->list, json_string(name ? name : "syscall"));
	return i;
}

static void add_varint(struct buf *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		buf_add_char(b, (char)(v | 128));
	buf_add_char(b, (char)v);
}

static unsigned thread_index(const struct timeline_thread *v, unsigned n, const struct timeline_where *w)
{
	for (unsigned i = 0; i < n; i++)
		if (v[i].process == w->process && v[i].ordinal == w->thread)
			return i;
	return 0;
}

static int add_events(json_t *detail, struct timeline *tl, struct err *e)
{
	struct names names = {.list = json_array()};
	cleanup_free struct timeline_thread *threads = NULL;
	unsigned n = timeline_threads(tl, &threads);
	cleanup_buf struct buf bytes = {0}, text = {0};
	json_t *list = json_array();
	struct timeline_walk w;
	struct timeline_event ev;
	double last = 0;
	uint64_t at = 0;
	int got = -1;

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:I, s:I}", "id", (json_int_t)threads[i].ordinal, "tid",
						(json_int_t)threads[i].tid, "process", (json_int_t)threads[i].process));
	json_object_set_new(detail, "threads", list);
	json_object_set_new(detail, "names", names.list);
	if (timeline_walk_init(&w, tl, timeline_base(tl) + 1, e))
		return -1;
	while ((got = timeline_walk_next(&w, &ev, e)) == 1) {
		uint64_t ticks;

		last = ev.seconds > last ? ev.seconds : last; /* an acquire has the time of its slot's end */
		ticks = (uint64_t)(last * 1e7);
		add_varint(&bytes, thread_index(threads, n, &ev.where));
		add_varint(&bytes, name_of(&names, &ev.ev));
		add_varint(&bytes, ticks - at);
		at = ticks;
	}
	timeline_walk_fini(&w);
	base64_encode(&text, bytes.data, bytes.len);
	json_object_set_new(detail, "events", json_stringn(buf_str(&text), text.len));
	json_object_set_new(detail, "first", json_integer((json_int_t)timeline_base(tl) + 1));
	json_object_set_new(detail, "total", json_integer((json_int_t)timeline_total(tl)));
	json_object_set_new(detail, "seconds", json_real(last));
	return got < 0 ? -1 : 0;
}

/* ---- marks on the timeline ---- */

static void mark(json_t *marks, json_int_t event, const char *kind, const char *text, json_int_t thread)
{
	json_array_append_new(marks, json_pack("{s:I, s:s, s:o, s:I}", "event", event, "kind", kind, "text",
					       json_text(text, strlen(text)), "thread", thread));
}

static void mark_step(json_t *marks, const json_t *position, const char *kind, const char *text)
{
	if (json_is_object(position))
		mark(marks, report_int(position, "event"), kind, text,
		     report_int(json_object_get(position, "thread"), "id"));
}

static void mark_checkpoints(json_t *marks, const char *rec, uint32_t process)
{
	cleanup_free char *root = path_join(rec, "checkpoints");
	cleanup_closedir DIR *d = opendir(root);
	struct dirent *de;
	unsigned n = 0;

	while (d && n < CHECKPOINTS && (de = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/ckpt.json", root, de->d_name),
				  *text = str_fmt("checkpoint %s", de->d_name);
		struct err ignored;
		json_auto_t *c = de->d_name[0] == '.' ? NULL : json_load_path(path, &ignored);

		if (!c || report_int(c, "process") != process)
			continue;
		mark(marks, report_int(c, "event"), "checkpoint", text, 0);
		n++;
	}
}

static json_t *marks_of(const json_t *g, const char *rec, const struct timeline *tl)
{
	const json_t *chain = json_object_get(g, "chain");
	bool found = json_is_true(json_object_get(g, "found")) && !report_is_check(g);
	json_t *marks = json_array();
	cleanup_free char *title = report_title(g);

	mark_checkpoints(marks, rec, timeline_process(tl));
	for (size_t i = json_array_size(chain); i-- > 1;) {
		const json_t *step = json_array_get(chain, i);
		bool cause = found && i + 1 == json_array_size(chain);

		mark_step(marks, json_object_get(step, "position"), cause ? "cause" : "step",
			  report_str(step, "words"));
	}
	if (found && json_array_size(chain) < 2)
		mark_step(marks, json_object_get(g, "position"), "cause",
			  *report_str(g, "words") ? report_str(g, "words") : title);
	if (report_is_check(g))
		mark_step(marks, json_object_get(g, "position"), "failure", title);
	else
		mark(marks, (json_int_t)timeline_total(tl), "failure", title, 0);
	return marks;
}

/* ---- values ---- */

static void add_value(json_t *list, const char *rec, const char *expr, json_int_t event, uint32_t process)
{
	cleanup_free char *at = str_fmt("%lld", (long long)event), *number = str_fmt("%u", process);
	const char *words[] = {"eval", rec, "--process", number, "--at", at, "--", expr, NULL};
	json_auto_t *result = NULL;
	cleanup_buf struct buf why = {0};
	struct err ignored;
	const char *value;

	if (tool_fredctl(words, &result, &why, &ignored))
		return;
	value = report_str(json_array_get(json_object_get(result, "values"), 0), "value");
	json_array_append_new(list, json_pack("{s:I, s:s}", "event", event, "text", value));
}

/* The expression's values at equal distances, and before and after the transition. */
static json_t *values_of(const json_t *g, const char *rec, const struct timeline *tl)
{
	json_int_t turn = report_int(json_object_get(g, "position"), "event"), total = (json_int_t)timeline_total(tl);
	json_int_t base = (json_int_t)timeline_base(tl), last = -1;
	json_t *list = json_array();

	if (!str_eq(report_str(g, "by"), "reverse-watch") || total - base < 2)
		return list;
	for (unsigned i = 0; i <= VALUES; i++) {
		json_int_t at = base + 1 + (json_int_t)((double)(total - base - 1) * i / VALUES);

		if (turn > last && turn <= at) {
			add_value(list, rec, report_str(g, "expr"), turn, timeline_process(tl));
			if (turn + 1 < at)
				add_value(list, rec, report_str(g, "expr"), turn + 1, timeline_process(tl));
		}
		if (at != turn)
			add_value(list, rec, report_str(g, "expr"), at, timeline_process(tl));
		last = at;
	}
	return list;
}

/* ---- sources ---- */

/* The source file as it was when it was recorded, if that is known. */
static int read_source(const struct sources *s, const char *file, struct buf *out)
{
	struct source *f = sources_find(s, file);
	struct err ignored;

	if (f && source_state(s, f) != SOURCE_SAME && !source_read(s, f, out, &ignored))
		return 0;
	return read_file(file, out, &ignored);
}

static void add_source(json_t *all, const struct sources *s, const json_t *location)
{
	const char *file = report_str(location, "file");
	long long line = report_int(location, "line"), first = line > AROUND ? line - AROUND : 1, n = 1;
	cleanup_free char *key = str_fmt("%s:%lld", file, line);
	cleanup_buf struct buf b = {0};
	json_t *lines;

	if (!*file || file[0] != '/' || line < 1 || json_object_get(all, key) || read_source(s, file, &b))
		return;
	lines = json_array();
	for (const char *p = buf_str(&b); *p && n <= line + AROUND; n++) {
		size_t len = strcspn(p, "\n");

		if (n >= first)
			json_array_append_new(lines, json_text(p, len));
		p += len + (p[len] == '\n');
	}
	json_object_set_new(all, key, json_pack("{s:I, s:o}", "first", (json_int_t)first, "lines", lines));
}

static json_t *sources_of(const json_t *g, const struct rec *rec)
{
	json_t *all = json_object(), *item;
	struct sources s;
	size_t i;

	sources_init(&s, rec);
	add_source(all, &s, json_object_get(g, "culprit"));
	json_array_foreach(json_object_get(g, "chain"), i, item) add_source(all, &s, json_object_get(item, "location"));
	sources_fini(&s);
	return all;
}

/* ---- the page ---- */

static uint32_t process_of(const json_t *g, const struct rec *rec)
{
	long long process = report_int(json_array_get(json_object_get(g, "chain"), 0), "process");

	return process > 0 ? (uint32_t)process : procs_default(rec);
}

/*
 * The details of a group; NULL if they cannot be made: then the reason is shown in their place, and the rest of the
 * page stays.
 */
static json_t *detail_of(const json_t *g)
{
	const char *dir = report_str(json_object_get(g, "best"), "recording");
	json_t *detail = json_object();
	struct timeline *tl = NULL;
	struct rec *rec;
	struct err e;

	if (!*dir) {
		json_object_set_new(detail, "missing", json_string("the recording was not kept"));
		return detail;
	}
	if (rec_open(dir, &rec, &e)) {
		json_object_set_new(detail, "missing", json_text(e.text, strlen(e.text)));
		return detail;
	}
	json_object_set_new(detail, "sources", sources_of(g, rec));
	if (timeline_build(rec, process_of(g, rec), NULL, &tl, &e) || add_events(detail, tl, &e)) {
		json_object_set_new(detail, "missing", json_text(e.text, strlen(e.text)));
	} else {
		json_object_set_new(detail, "marks", marks_of(g, dir, tl));
		json_object_set_new(detail, "values", values_of(g, dir, tl));
	}
	timeline_free(tl);
	rec_free(rec);
	return detail;
}

/* Escapes "<": in a script element, "</" and "<!--" have a meaning. */
static void add_json(struct buf *out, const json_t *v)
{
	cleanup_free char *text = json_dumps(v, JSON_COMPACT);

	for (const char *p = text; *p; p++)
		if (*p == '<')
			buf_add_str(out, "\\u003c");
		else
			buf_add_char(out, *p);
}

static void add_html(struct buf *out, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '&')
			buf_addf(out, "&#%d;", *s);
		else
			buf_add_char(out, *s);
}

static json_t *data_of(const json_t *report)
{
	json_t *details = json_array(), *titles = json_array(), *g;
	cleanup_free char *summary = report_summary(report), *program = report_program(report);
	size_t i;

	json_array_foreach(json_object_get(report, "groups"), i, g)
	{
		cleanup_free char *title = report_title(g), *rate = report_rate(g, report);

		json_array_append_new(titles,
				      json_pack("{s:o, s:s}", "title", json_text(title, strlen(title)), "rate", rate));
		json_array_append_new(details, i < DETAILS ? detail_of(g) : json_null());
	}
	return json_pack("{s:O, s:s, s:o, s:o, s:o}", "report", report, "summary", summary, "program",
			 json_text(program, strlen(program)), "titles", titles, "details", details);
}

int report_html(struct buf *out, const json_t *report, struct err *e)
{
	const char *data_at = strstr(page, "@DATA@"), *text_at = strstr(page, "@TEXT@"),
		   *title_at = strstr(page, "@TITLE@");
	cleanup_free char *program = report_program(report);
	cleanup_buf struct buf text = {0};
	json_auto_t *data = NULL;

	if (!data_at || !text_at || !title_at)
		return err_set(e, ERR_INTERNAL, "page.html has no placeholder for the data");
	data = data_of(report);
	report_text(&text, report, e);
	buf_add(out, page, (size_t)(title_at - page));
	add_html(out, program);
	title_at += strlen("@TITLE@");
	buf_add(out, title_at, (size_t)(text_at - title_at));
	add_html(out, buf_str(&text));
	text_at += strlen("@TEXT@");
	buf_add(out, text_at, (size_t)(data_at - text_at));
	add_json(out, data);
	buf_add_str(out, data_at + strlen("@DATA@"));
	return 0;
}
