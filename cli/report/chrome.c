/* SPDX-License-Identifier: MIT */
/* chrome.c: see chrome.h. */
#include "report/chrome.h"

#include <string.h>

#include "base/str.h"

#define PID 1

int chrome_open(struct chrome *c, const char *path, struct err *e)
{
	*c = (struct chrome){.f = fopen(path, "we"), .path = path};
	if (!c->f)
		return err_errno(e, ERR_HOST, "%s", path);
	c->kept = json_array();
	c->threads = json_object();
	fputc('[', c->f);
	return 0;
}

/* Takes event over. */
static void put(struct chrome *c, json_t *event)
{
	fputs(c->any ? ",\n" : "\n", c->f);
	json_dumpf(event, c->f, JSON_COMPACT);
	json_decref(event);
	c->any = true;
}

static json_t *thread_of(struct chrome *c, json_int_t id)
{
	char key[24];
	json_t *t;

	snprintf(key, sizeof(key), "%lld", (long long)id);
	t = json_object_get(c->threads, key);
	if (t)
		return t;
	t = json_pack("{s:I, s:i, s:f}", "id", id, "open", 0, "ts", 0.0);
	json_object_set_new(c->threads, key, t);
	put(c, json_pack("{s:s, s:s, s:i, s:I, s:{s:o}}", "ph", "M", "name", "thread_name", "pid", PID, "tid", id,
			 "args", "name", json_sprintf("thread %lld", (long long)id)));
	return t;
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void put_row(struct chrome *c, json_t *thread, const json_t *row, double us)
{
	bool call = str_eq(json_string_value(json_object_get(row, "kind")), "call");
	json_int_t open = number(thread, "open");
	json_t *event;

	json_object_set_new(thread, "ts", json_real(us));
	json_object_set_new(thread, "open", json_integer(open + (call ? 1 : -1)));
	event = json_pack("{s:s, s:i, s:I, s:f, s:O}", "ph", call ? "B" : "E", "pid", PID, "tid", number(thread, "id"),
			  "ts", us, "name", json_object_get(row, "callee"));
	if (call)
		json_object_set_new(event, "args",
				    json_pack("{s:O, s:O, s:O, s:O}", "at", json_object_get(row, "at"), "from",
					      json_object_get(row, "function"), "file", json_object_get(row, "file"),
					      "line", json_object_get(row, "line")));
	put(c, event);
}

static void segment(struct chrome *c, const json_t *row)
{
	double from = json_number_value(json_object_get(row, "from_s")) * 1e6,
	       to = json_number_value(json_object_get(row, "to_s")) * 1e6, n = (double)number(row, "n");
	json_t *thread = thread_of(c, number(row, "thread")), *one;
	size_t k;

	if (from > to)
		from = to;
	json_array_foreach(c->kept, k, one)
		put_row(c, thread, one, from + (n > 0 ? (to - from) * (double)number(one, "n") / n : 0));
	json_array_clear(c->kept);
}

void chrome_row(struct chrome *c, const json_t *row)
{
	const char *kind = json_string_value(json_object_get(row, "kind"));

	if (str_eq(kind, "segment"))
		segment(c, row);
	else if (str_eq(kind, "call") || str_eq(kind, "return"))
		json_array_append(c->kept, (json_t *)row);
}

int chrome_close(struct chrome *c, struct err *e)
{
	const char *key;
	json_t *t;
	int bad;

	if (!c->f)
		return 0;
	json_object_foreach(c->threads, key, t)
	{
		for (json_int_t n = number(t, "open"); n > 0; n--)
			put(c, json_pack("{s:s, s:i, s:I, s:O}", "ph", "E", "pid", PID, "tid", number(t, "id"), "ts",
					 json_object_get(t, "ts")));
	}
	fputs("\n]\n", c->f);
	bad = ferror(c->f);
	bad |= fclose(c->f);
	c->f = NULL;
	json_decref(c->kept);
	json_decref(c->threads);
	return bad ? err_set(e, ERR_HOST, "%s: it could not be written", c->path) : 0;
}
