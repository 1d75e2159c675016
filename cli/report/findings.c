/* SPDX-License-Identifier: MIT */
/* findings.c: see findings.h. */
#include "report/findings.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/rec.h"
#include "report/summary.h"

/* A step of the chain, which leads back in time. */
static void add_step(json_t *chain, const char *words, const json_t *deed)
{
	json_t *position = json_object_get(deed, "position"), *location = json_object_get(deed, "location"),
	       *at = json_object_get(deed, "at");

	if (json_is_object(deed))
		json_array_append_new(chain,
				      json_pack("{s:o, s:O?, s:O?, s:O?}", "words", json_text(words, strlen(words)),
						"position", position, "location", location, "at", at));
}

static void add_end(json_t *chain, const char *when, const json_t *end)
{
	cleanup_free char *words =
		str_fmt("the %s access: a %s of %lld bytes", when, report_str(end, "access"), report_int(end, "bytes"));

	add_step(chain, words, end);
}

static json_t *chain_of(const json_t *f)
{
	const json_t *block = json_object_get(f, "block"), *origin = json_object_get(f, "origin");
	json_t *chain = json_array();

	if (json_is_object(json_object_get(f, "later"))) {
		add_end(chain, "later", json_object_get(f, "later"));
		add_end(chain, "earlier", json_object_get(f, "earlier"));
	} else {
		add_step(chain, report_str(f, "words"), f);
	}
	add_step(chain, "the block was freed", json_object_get(block, "freed"));
	add_step(chain, "the block was allocated", json_object_get(block, "allocated"));
	add_step(chain,
		 str_eq(report_str(origin, "memory"), "stack") ? "the stack frame began" : "the memory was allocated",
		 origin);
	return chain;
}

static json_t *best_of(const struct rec *rec, const char *dir, const char *at)
{
	return json_pack("{s:o, s:b, s:i, s:s, s:f, s:o}", "recording", json_text(dir, strlen(dir)), "replays", true,
			 "run", 1, "sched", rec->sched, "seconds", rec->wall_s, "again",
			 json_sprintf("fredctl debug %s --at %s", dir, at));
}

static json_t *group_of(const struct rec *rec, const char *dir, const char *what, const json_t *f)
{
	const json_t *place = json_is_object(json_object_get(f, "later")) ? json_object_get(f, "later") : f;
	json_t *location = json_object_get(place, "location"), *g;
	const char *kind = report_str(f, "kind"), *words = report_str(f, "words"), *at = report_str(place, "at");
	long long count = report_int(f, "count");
	cleanup_free char *whole = *kind ? str_fmt("%s/%s", what, kind) : xstrdup(what);

	g = json_pack("{s:s, s:b, s:b, s:I, s:s, s:s, s:O?, s:O?, s:O?}", "check", what, "found", true, "searched",
		      true, "count", (json_int_t)(count > 0 ? count : 1), "words", words, "at", at, "position",
		      json_object_get(place, "position"), "culprit", location, "backtrace",
		      json_object_get(place, "backtrace"));
	json_object_set_new(g, "fail", json_pack("{s:s, s:s}", "kind", whole, "text", words));
	json_object_set_new(g, "failure", json_pack("{s:s, s:s}", "kind", whole, "text", words));
	json_object_set_new(g, "key",
			    json_sprintf("%s %s %s:%lld", whole, report_str(location, "function"),
					 report_str(location, "file"), report_int(location, "line")));
	json_object_set_new(g, "chain", chain_of(f));
	json_object_set_new(g, "best", best_of(rec, dir, at));
	return g;
}

json_t *findings_report(const char *dir, const char *what, const json_t *result, struct err *e)
{
	json_t *groups = json_array(), *report, *f;
	struct rec *rec;
	size_t i;

	if (rec_open(dir, &rec, e)) {
		json_decref(groups);
		return NULL;
	}
	json_array_foreach(json_object_get(result, "findings"), i, f)
		json_array_append_new(groups, group_of(rec, dir, what, f));
	report = json_pack("{s:s, s:O?, s:s, s:o, s:f, s:O?}", "check", what, "program",
			   json_object_get(rec->meta, "argv"), "cwd", rec->cwd ? rec->cwd : "", "groups", groups,
			   "seconds", json_number_value(json_object_get(json_object_get(result, "stats"), "total_s")),
			   "notes", json_object_get(result, "notes"));
	rec_free(rec);
	return report;
}
