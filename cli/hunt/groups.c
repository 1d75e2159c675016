/* SPDX-License-Identifier: MIT */
/* groups.c: see groups.h. */
#include "hunt/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"

#define LISTED 1000u /* the most runs and seeds that the report lists for a group */
#define OUTPUT_BYTES 4000u

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

char *groups_signs(const json_t *fail)
{
	cleanup_free char *list = json_dumps(json_object_get(fail, "invariants"), JSON_COMPACT);

	return str_fmt("%s %lld %lld %s %s", text_of(fail, "kind"),
		       (long long)json_integer_value(json_object_get(fail, "signal")),
		       (long long)json_integer_value(json_object_get(fail, "code")), list ? list : "",
		       text_of(fail, "command"));
}

char *groups_place(const json_t *culprit)
{
	const char *file = json_string_value(json_object_get(culprit, "file")), *text = text_of(culprit, "text");
	struct buf b = {0};

	if (!json_is_object(culprit))
		return xstrdup("not known");
	text += strspn(text, " \t");
	buf_add_str(&b, *text_of(culprit, "function") ? text_of(culprit, "function") : "?");
	if (file)
		buf_addf(&b, " at %s:%lld", file, (long long)json_integer_value(json_object_get(culprit, "line")));
	if (*text)
		buf_addf(&b, ": %.*s", (int)strcspn(text, "\n"), text);
	return buf_steal(&b);
}

/* The failure's key; if no place is known, what it looks like from outside. */
static char *key_of(const struct failure *f)
{
	cleanup_free char *signs = groups_signs(f->fail);

	if (*text_of(f->cause, "key"))
		return xstrdup(text_of(f->cause, "key"));
	return str_fmt("? %s", signs);
}

bool groups_same(const struct failure *a, const struct failure *b)
{
	cleanup_free char *x = NULL, *y = NULL;

	if (!a->cause || !b->cause)
		return false;
	x = key_of(a);
	y = key_of(b);
	return str_eq(x, y);
}

static int replays(const struct failure *f)
{
	return json_is_true(json_object_get(f->cause, "replays"));
}

bool groups_better(const struct failure *a, const struct failure *b)
{
	json_int_t x = json_integer_value(json_object_get(a->cause, "events"));
	json_int_t y = json_integer_value(json_object_get(b->cause, "events"));

	if (a->assumed != b->assumed)
		return b->assumed;
	if (replays(a) != replays(b))
		return replays(a) > replays(b);
	if ((a->sched == HUNT_PARALLEL) != (b->sched == HUNT_PARALLEL))
		return b->sched == HUNT_PARALLEL;
	if (x != y)
		return x < y;
	return a->n < b->n;
}

/* ---- one group ---- */

struct failure_group {
	const struct failure **v;
	size_t n;
};

static const struct failure *best_of(const struct failure_group *g)
{
	const struct failure *best = g->v[0];

	for (size_t i = 1; i < g->n; i++)
		if (groups_better(g->v[i], best))
			best = g->v[i];
	return best;
}

/* The end of what the program wrote. */
static json_t *output_of(const struct failure *f)
{
	cleanup_free char *path = path_join(f->dir, "output");
	cleanup_buf struct buf b = {0};
	struct err ignored;
	size_t from;

	if (read_file(path, &b, &ignored))
		return json_null();
	from = b.len > OUTPUT_BYTES ? b.len - OUTPUT_BYTES : 0;
	return json_text(buf_str(&b) + from, b.len - from);
}

static json_t *best_json(const struct failure *f, const struct hunt_spec *spec)
{
	cleanup_free char *rec = path_join(f->dir, "rec"), *sched = hunt_sched_text(f->sched, f->seed);
	cleanup_free char *program = hunt_command_text(&spec->argv);
	cleanup_free char *again = str_fmt("fredctl record --sched %s -- %s", sched, program);
	json_t *v = json_pack("{s:I, s:s, s:o, s:f, s:o}", "run", (json_int_t)f->n, "sched", sched, "recording",
			      path_exists(rec) ? json_text(rec, strlen(rec)) : json_null(), "seconds", f->seconds,
			      "again", json_text(again, strlen(again)));

	json_object_set(v, "events",
			json_object_get(f->cause, "events") ? json_object_get(f->cause, "events") : json_null());
	json_object_set_new(v, "replays", f->cause ? json_boolean(replays(f)) : json_null());
	return v;
}

static json_t *classes_json(const struct failure_group *g)
{
	json_int_t n[HUNT_CLASSES] = {0};
	json_t *v = json_object();

	for (size_t i = 0; i < g->n; i++)
		n[g->v[i]->sched]++;
	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		if (n[c])
			json_object_set_new(v, hunt_class_name((enum hunt_class)c), json_integer(n[c]));
	return v;
}

static void copy(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);

	json_object_set(to, key, v ? v : json_null());
}

static json_t *group_json(const struct failure_group *g, uint64_t runs, const struct hunt_spec *spec)
{
	static const char *const of_cause[] = {"found",	  "by",	    "culprit", "at",	       "position",
					       "words",	  "expr",   "before",  "after",	       "backtrace",
					       "failure", "chain",  "threads", "end",	       "candidates",
					       "notes",	  "errors", "stats",   "may_be_later", "diff"};
	const struct failure *best = best_of(g);
	json_t *v = json_object(), *numbers = json_array(), *seeds = json_array();
	json_int_t assumed = 0;

	for (size_t i = 0; i < g->n; i++) {
		assumed += g->v[i]->assumed;
		if (i >= LISTED)
			continue;
		json_array_append_new(numbers, json_integer((json_int_t)g->v[i]->n));
		if (g->v[i]->sched == HUNT_CHAOS)
			json_array_append_new(seeds, json_integer((json_int_t)g->v[i]->seed));
	}
	json_object_set_new(v, "count", json_integer((json_int_t)g->n));
	json_object_set_new(v, "assumed", json_integer(assumed));
	json_object_set_new(v, "rate", json_real(runs ? (double)g->n / (double)runs : 0));
	json_object_set_new(v, "searched", json_boolean(best->cause != NULL));
	json_object_set(v, "fail", best->fail);
	for (size_t i = 0; i < sizeof(of_cause) / sizeof(of_cause[0]); i++)
		copy(v, best->cause, of_cause[i]);
	if (!json_is_true(json_object_get(v, "found")))
		json_object_set_new(v, "found", json_false());
	json_object_set_new(v, "key", json_string(text_of(best->cause, "key")));
	json_object_set_new(v, "best", best_json(best, spec));
	json_object_set_new(v, "schedules", classes_json(g));
	json_object_set_new(v, "runs", numbers);
	json_object_set_new(v, "seeds", seeds);
	json_object_set_new(v, "output", output_of(best));
	return v;
}

/* ---- all of them ---- */

struct groups {
	struct failure_group *v;
	size_t n;
};

static bool belongs(const struct failure_group *g, const struct failure *f)
{
	if (g->v[0]->cause || f->cause)
		return groups_same(g->v[0], f);
	cleanup_free char *a = groups_signs(g->v[0]->fail), *b = groups_signs(f->fail);

	return str_eq(a, b);
}

static void add(struct groups *gs, const struct failure *f)
{
	struct failure_group *g;
	size_t i = 0;

	while (i < gs->n && !belongs(&gs->v[i], f))
		i++;
	if (i == gs->n) {
		gs->v = xreallocarray(gs->v, ++gs->n, sizeof(*gs->v));
		gs->v[i] = (struct failure_group){0};
	}
	g = &gs->v[i];
	g->v = xreallocarray(g->v, g->n + 1, sizeof(*g->v));
	g->v[g->n++] = f;
}

/* Most frequent first; if two are as frequent, the one with the earlier first run. */
static int by_count(const void *a, const void *b)
{
	const struct failure_group *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->v[0]->n < y->v[0]->n ? -1 : 1;
}

static int by_run(const void *a, const void *b)
{
	const struct failure *x = *(const struct failure *const *)a, *y = *(const struct failure *const *)b;

	return x->n < y->n ? -1 : x->n > y->n;
}

static json_t *argv_json(const struct hunt_spec *spec)
{
	json_t *list = json_array();

	for (size_t i = 0; i < spec->argv.n; i++)
		json_array_append_new(list, json_text(spec->argv.s[i], strlen(spec->argv.s[i])));
	return list;
}

static json_t *schedules_json(const struct plan_tally *t)
{
	json_t *v = json_object();

	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		if (t->runs[c])
			json_object_set_new(v, hunt_class_name((enum hunt_class)c),
					    json_pack("{s:I, s:I}", "runs", (json_int_t)t->runs[c], "failed",
						      (json_int_t)t->failed[c]));
	return v;
}

static const char *stopped(enum hunt_stop why)
{
	static const char *const names[] = {"runs", "failure", "budget", "interrupted", "error"};

	return names[why];
}

/*
 * Counts failures without a cause, except those that look the same as others that have one (some recordings of a
 * failure may replay, and others not).
 */
static json_int_t unexplained(const struct ledger *const *l, unsigned n)
{
	cleanup_strv struct strv known = {0};
	json_int_t left = 0;

	for (int pass = 0; pass < 2; pass++)
		for (unsigned k = 0; k < n; k++)
			for (size_t i = 0; i < l[k]->nfailures; i++) {
				const struct failure *f = &l[k]->failures[i];
				cleanup_free char *signs = groups_signs(f->fail);

				if (pass)
					left += !strv_has(&known, signs);
				else if (json_is_true(json_object_get(f->cause, "found")) && !strv_has(&known, signs))
					strv_add(&known, signs);
			}
	return left;
}

json_t *groups_report(const struct ledger *const *l, unsigned n, const struct groups_facts *facts)
{
	json_t *list = json_array(), *v;
	struct plan_tally tally = {0};
	uint64_t runs = 0, failed = 0, skipped = 0, searched = 0, explained = 0;
	struct groups gs = {0};

	for (unsigned k = 0; k < n; k++) {
		runs += l[k]->runs;
		failed += l[k]->failed;
		skipped += l[k]->skipped;
		for (unsigned c = 0; c < HUNT_CLASSES; c++) {
			tally.runs[c] += l[k]->tally.runs[c];
			tally.failed[c] += l[k]->tally.failed[c];
		}
		for (size_t i = 0; i < l[k]->nfailures; i++) {
			add(&gs, &l[k]->failures[i]);
			searched += l[k]->failures[i].cause != NULL;
			explained += json_is_true(json_object_get(l[k]->failures[i].cause, "found"));
		}
	}
	for (size_t i = 0; i < gs.n; i++)
		qsort(gs.v[i].v, gs.v[i].n, sizeof(*gs.v[i].v), by_run);
	if (gs.n)
		qsort(gs.v, gs.n, sizeof(*gs.v), by_count);
	for (size_t i = 0; i < gs.n; i++) {
		json_array_append_new(list, group_json(&gs.v[i], runs - skipped, facts->spec));
		free(gs.v[i].v);
	}
	free(gs.v);
	v = json_pack("{s:o, s:o, s:o, s:s, s:f, s:{s:I, s:I, s:I, s:I, s:o}, s:I, s:I, s:o, s:o}", "program",
		      argv_json(facts->spec), "cwd", json_text(facts->spec->cwd, strlen(facts->spec->cwd)), "state",
		      json_text(facts->dir, strlen(facts->dir)), "stopped", stopped(facts->why), "seconds",
		      facts->seconds, "runs", "done", (json_int_t)runs, "failed", (json_int_t)failed, "passed",
		      (json_int_t)(runs - failed - skipped), "skipped", (json_int_t)skipped, "wanted",
		      facts->spec->runs ? json_integer((json_int_t)facts->spec->runs) : json_null(), "searched",
		      (json_int_t)searched, "explained", (json_int_t)explained, "schedules", schedules_json(&tally),
		      "groups", list);
	json_object_set_new(v, "unexplained", json_integer(unexplained(l, n)));
	json_object_set_new(v, "error",
			    facts->error && facts->error->kind
				    ? json_text(facts->error->text, strlen(facts->error->text))
				    : json_null());
	return v;
}

int hunt_exit_code(const json_t *report)
{
	const json_t *runs = json_object_get(report, "runs");
	json_int_t failed = json_integer_value(json_object_get(runs, "failed"));
	json_int_t searched = json_integer_value(json_object_get(report, "searched"));
	const char *why = text_of(report, "stopped");

	if (str_eq(why, "interrupted"))
		return err_exit_code(ERR_CANCELLED);
	if (failed && searched == failed)
		return json_integer_value(json_object_get(report, "unexplained")) ? err_exit_code(ERR_INTERNAL) : 0;
	if (str_eq(why, "budget") || failed)
		return err_exit_code(ERR_BUDGET);
	return 1;
}
