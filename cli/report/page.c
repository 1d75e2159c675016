/* SPDX-License-Identifier: MIT */
/* page.c: see page.h. */
#include "report/page.h"

#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonx.h"
#include "hunt/cause.h"
#include "hunt/groups.h"
#include "reclog/rec.h"

/* How the run ended, in the form in which a hunt notes it. */
static json_t *seen(const struct rec *rec, const char *expr)
{
	if (expr)
		return json_pack("{s:s, s:o, s:[o]}", "kind", "invariant", "text", json_sprintf("%s is false", expr),
				 "invariants", json_text(expr, strlen(expr)));
	if (rec->end == REC_END_SIGNAL)
		return json_pack("{s:s, s:o, s:i}", "kind", "signal", "text",
				 json_sprintf("it was ended by SIG%s",
					      sigabbrev_np(rec->end_value) ? sigabbrev_np(rec->end_value) : "?"),
				 "signal", rec->end_value);
	return json_pack("{s:s, s:o, s:i}", "kind", "exit", "text", json_sprintf("it exited with %d", rec->end_value),
			 "code", rec->end_value);
}

static void add_argv(struct hunt_spec *s, const struct rec *rec)
{
	json_t *word;
	size_t i;

	json_array_foreach(json_object_get(rec->meta, "argv"), i, word)
		strv_add(&s->argv, json_string_value(word) ? json_string_value(word) : "?");
	s->cwd = xstrdup(rec->cwd);
	s->shards = 1;
	s->runs = 1;
}

static enum hunt_class class_of(const struct rec *rec)
{
	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		if (str_eq(rec->sched, hunt_class_name((enum hunt_class)c)))
			return (enum hunt_class)c;
	return HUNT_PARALLEL;
}

json_t *page_of_recording(const char *dir, const char *expr, struct err *e)
{
	struct failure f = {.dir = (char *)dir};
	struct ledger l = {.runs = 1, .failed = 1, .failures = &f, .nfailures = 1};
	const struct ledger *all = &l;
	struct hunt_spec spec = {0};
	struct groups_facts facts = {.spec = &spec, .dir = dir, .why = HUNT_ALL_RUNS};
	double began = clock_s();
	struct rec *rec;
	json_t *report, *best;

	if (rec_open(dir, &rec, e))
		return NULL;
	if (rec_verify_manifest(rec, e)) {
		rec_free(rec);
		return NULL;
	}
	add_argv(&spec, rec);
	f.sched = class_of(rec);
	f.seed = (uint64_t)json_integer_value(json_object_get(rec->meta, "chaos_seed"));
	f.seconds = rec->wall_s;
	f.fail = seen(rec, expr);
	l.tally.runs[f.sched] = l.tally.failed[f.sched] = 1;
	rec_free(rec);
	f.cause = cause_of(dir, f.fail, NULL);
	facts.seconds = clock_s() - began;
	report = groups_report(&all, 1, &facts);
	best = json_object_get(json_array_get(json_object_get(report, "groups"), 0), "best");
	json_object_set_new(best, "recording", json_text(dir, strlen(dir)));
	json_decref(f.fail);
	json_decref(f.cause);
	hunt_spec_fini(&spec);
	return report;
}
