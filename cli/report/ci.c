/* SPDX-License-Identifier: MIT */
/*
 * ci.c: reports for CI systems: JUnit (as Ant writes it, and Jenkins, GitLab and others read it), SARIF 2.1.0 (OASIS,
 * sarif-v2.1.0), and GitHub's annotation commands.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "report/kinds.h"
#include "report/summary.h"

/* ---- JUnit ---- */

/* Characters that XML 1.0 does not allow are left out; the report never contains invalid UTF-8. */
static void add_xml(struct buf *b, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' || c == '\n' || c == '\t')
			buf_addf(b, "&#%d;", c);
		else if (c >= 32 && c != 127 && strncmp(s, "\xef\xbf\xbe", 3) && strncmp(s, "\xef\xbf\xbf", 3))
			buf_add_char(b, *s);
		else if (c >= 128)
			s += 2;
	}
}

static void add_attribute(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, " %s=\"", name);
	add_xml(b, value);
	buf_add_str(b, "\"");
}

static void add_case(struct buf *b, size_t number, const json_t *g, const json_t *report, const char *program)
{
	cleanup_free char *title = report_title(g), *name = str_fmt("cause %zu: %s", number, title);
	cleanup_free char *place = report_place(json_object_get(g, "culprit")),
			  *message = str_fmt("%s: %s", title, place ? place : "?");
	json_auto_t *alone = json_copy((json_t *)report);
	cleanup_buf struct buf text = {0};
	struct err ignored;

	json_object_set_new(alone, "groups", json_pack("[O]", g));
	report_text(&text, alone, &ignored);
	buf_add_str(b, "    <testcase");
	add_attribute(b, "classname", program);
	add_attribute(b, "name", name);
	buf_addf(b, " time=\"%.6f\">\n      <failure",
		 json_number_value(json_object_get(json_object_get(g, "best"), "seconds")));
	add_attribute(b, "message", message);
	add_attribute(b, "type", report_str(json_object_get(g, "fail"), "kind"));
	buf_add_str(b, ">");
	add_xml(b, buf_str(&text));
	buf_add_str(b, "</failure>\n    </testcase>\n");
}

int report_junit(struct buf *b, const json_t *report, struct err *e)
{
	cleanup_free char *program = report_program(report), *summary = report_summary(report);
	json_t *groups = json_object_get(report, "groups"), *g;
	size_t n = json_array_size(groups), i;
	char host[256] = "localhost", stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	(void)e;
	gethostname(host, sizeof(host) - 1);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	buf_add_str(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite id=\"0\"");
	add_attribute(b, "package", "fredctl");
	add_attribute(b, "name", program);
	add_attribute(b, "timestamp", stamp);
	add_attribute(b, "hostname", host);
	buf_addf(b, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.6f\">\n    <properties>\n",
		 n + !n, n, json_number_value(json_object_get(report, "seconds")));
	json_array_foreach(groups, i, g) if (*report_str(json_object_get(g, "best"), "recording"))
	{
		buf_addf(b, "      <property name=\"recording.%zu\"", i + 1);
		add_attribute(b, "value", report_str(json_object_get(g, "best"), "recording"));
		buf_add_str(b, "/>\n");
	}
	buf_add_str(b, "    </properties>\n");
	json_array_foreach(groups, i, g) add_case(b, i + 1, g, report, program);
	if (!n) {
		buf_add_str(b, "    <testcase");
		add_attribute(b, "classname", program);
		buf_addf(b, " name=\"no run fails\" time=\"%.6f\"/>\n",
			 json_number_value(json_object_get(report, "seconds")));
	}
	buf_add_str(b, "    <system-out>");
	add_xml(b, summary);
	buf_add_str(b, "</system-out>\n    <system-err></system-err>\n  </testsuite>\n</testsuites>\n");
	return 0;
}

/* ---- SARIF ---- */

/* The folder that paths in the report are relative to. */
static const char *source_root(const json_t *report)
{
	static const char *const names[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);

		if (v && v[0] == '/')
			return v;
	}
	return report_str(report, "cwd");
}

/* The rest of the path below root, or NULL. */
static const char *below(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return len && !strncmp(path, root, len) && path[len] == '/' ? path + len + 1 : NULL;
}

/* RFC 3986, 2.3 */
static void add_uri(struct buf *b, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

	for (; *path; path++)
		if (strchr(plain, *path))
			buf_add_char(b, *path);
		else
			buf_addf(b, "%%%02X", (unsigned char)*path);
}

static json_t *artifact(const char *file, const json_t *report)
{
	const char *relative = below(file, source_root(report));
	cleanup_buf struct buf uri = {0};

	buf_add_str(&uri, relative || file[0] != '/' ? "" : "file://");
	add_uri(&uri, relative ? relative : file);
	return relative ? json_pack("{s:s, s:s}", "uri", buf_str(&uri), "uriBaseId", "SRCROOT")
			: json_pack("{s:s}", "uri", buf_str(&uri));
}

/* A location object; what is not known of it is left out. message may be NULL. */
static json_t *sarif_location(const json_t *l, const char *message, const json_t *report)
{
	const char *file = report_str(l, "file"), *function = report_str(l, "function"), *text = report_str(l, "text");
	json_t *v = json_object();

	if (*file) {
		json_t *region = json_pack("{s:I}", "startLine",
					   (json_int_t)(report_int(l, "line") > 0 ? report_int(l, "line") : 1));

		if (*text)
			json_object_set_new(region, "snippet", json_pack("{s:s}", "text", text));
		json_object_set_new(
			v, "physicalLocation",
			json_pack("{s:o, s:o}", "artifactLocation", artifact(file, report), "region", region));
	}
	if (*function)
		json_object_set_new(v, "logicalLocations",
				    json_pack("[{s:s, s:s}]", "name", function, "kind", "function"));
	if (message && *message)
		json_object_set_new(v, "message", json_pack("{s:s}", "text", message));
	return v;
}

static json_t *code_flow(const json_t *g, const json_t *report)
{
	const json_t *chain = json_object_get(g, "chain");
	json_t *list = json_array();

	for (size_t i = json_array_size(chain); i-- > 0;) {
		const json_t *step = json_array_get(chain, i);
		json_t *l = sarif_location(json_object_get(step, "location"), report_str(step, "words"), report);

		json_array_append_new(list, json_pack("{s:o, s:i, s:s}", "location", l, "executionOrder",
						      (int)(json_array_size(chain) - i), "importance", "essential"));
	}
	if (!json_array_size(list))
		json_array_append_new(
			list, json_pack("{s:o, s:s}", "location",
					sarif_location(json_object_get(g, "culprit"), report_str(g, "words"), report),
					"importance", "essential"));
	return json_pack("[{s:[{s:o}]}]", "threadFlows", "locations", list);
}

static json_t *stack(const json_t *g, const json_t *report)
{
	json_t *frames = json_array(), *frame;
	size_t i;

	json_array_foreach(json_object_get(g, "backtrace"), i, frame)
		json_array_append_new(frames, json_pack("{s:o}", "location", sarif_location(frame, NULL, report)));
	return json_pack("[{s:o}]", "frames", frames);
}

static void relate(json_t *list, const json_t *sides, const char *name, const char *words, const json_t *report)
{
	const json_t *side = json_object_get(sides, name), *place = json_object_get(side, "location");
	cleanup_free char *message = NULL;
	json_t *l;

	if (!json_is_object(side) || !*report_str(place, "file"))
		return;
	message = str_fmt("%s, thread %lld: %s", words, report_int(side, "thread_id"), report_str(side, "text"));
	l = sarif_location(place, message, report);
	json_object_set_new(l, "id", json_integer((json_int_t)json_array_size(list)));
	json_array_append_new(list, l);
}

/* The places where the failing run and one that passed first differ. */
static json_t *related_locations(const json_t *g, const json_t *report)
{
	static const struct {
		const char *key, *bad, *good;
	} parts[] = {
		{"order", "threads acquired a lock in another order; in the failing run", "in a run that passed"},
		{"parts", "a thread did something else from here on; in the failing run", "in a run that passed"},
	};
	json_t *list = json_array();

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const json_t *sides = json_object_get(json_object_get(g, "diff"), parts[i].key);

		relate(list, sides, "bad", parts[i].bad, report);
		relate(list, sides, "good", parts[i].good, report);
	}
	return list;
}

static json_t *sarif_message(const json_t *g, const json_t *report)
{
	cleanup_free char *title = report_title(g), *rate = report_rate(g, report);
	cleanup_free char *place = report_place(json_object_get(g, "culprit"));
	bool found = json_is_true(json_object_get(g, "found"));

	if (report_is_check(g))
		return json_sprintf("%s%s%s, %s.", title, place ? ": " : "", place ? place : "", rate);
	if (!place)
		return json_sprintf("%s: its cause is not known. %s", title, rate);
	return json_sprintf("%s: %s %s. %s", title, found ? "the cause is" : "no cause was found; it failed in", place,
			    rate);
}

static json_t *sarif_result(const json_t *g, const char *rule, size_t index, const json_t *report)
{
	const json_t *culprit = json_object_get(g, "culprit"), *best = json_object_get(g, "best");
	const char *key = report_str(g, "key");
	json_t *v = json_pack("{s:s, s:I, s:s, s:{s:o}, s:I}", "ruleId", rule, "ruleIndex", (json_int_t)index, "level",
			      "error", "message", "text", sarif_message(g, report), "occurrenceCount",
			      (json_int_t)report_int(g, "count"));

	if (json_is_object(culprit)) {
		json_object_set_new(v, "locations", json_pack("[o]", sarif_location(culprit, NULL, report)));
		json_object_set_new(v, "codeFlows", code_flow(g, report));
	}
	if (json_array_size(json_object_get(g, "backtrace")))
		json_object_set_new(v, "stacks", stack(g, report));
	if (json_is_object(json_object_get(g, "diff")))
		json_object_set_new(v, "relatedLocations", related_locations(g, report));
	json_object_set_new(v, "partialFingerprints",
			    json_pack("{s:o}", "fredCause/v1",
				      json_sprintf("%08x%04zx", crc32c(0, key, strlen(key)), strlen(key))));
	json_object_set_new(v, "properties",
			    json_pack("{s:O?, s:O, s:O?, s:b}", "rate", json_object_get(g, "rate"), "best", best, "at",
				      json_object_get(g, "at"), "found", json_is_true(json_object_get(g, "found"))));
	return v;
}

static char *rule_of(const json_t *g)
{
	const char *kind = report_str(json_object_get(g, "failure"), "kind");

	return str_fmt("fred/%s",
		       *kind && strcmp(kind, "none") ? kind : report_str(json_object_get(g, "fail"), "kind"));
}

/* The index of the rule, which is added if it is missing. */
static size_t add_rule(json_t *rules, const char *id, const json_t *report)
{
	const char *check = report_str(report, "check");
	json_t *rule;
	size_t i;

	json_array_foreach(rules, i, rule) if (str_eq(report_str(rule, "id"), id)) return i;
	json_array_append_new(rules, json_pack("{s:s, s:{s:o}, s:{s:s}}", "id", id, "shortDescription", "text",
					       *check ? json_sprintf("fredctl check %s: %s", check, path_base(id))
						      : json_sprintf("The program failed (%s)", path_base(id)),
					       "defaultConfiguration", "level", "error"));
	return i;
}

int report_sarif(struct buf *b, const json_t *report, struct err *e)
{
	cleanup_free char *program = report_program(report);
	json_auto_t *v = NULL;
	json_t *rules = json_array(), *results = json_array(), *g;
	cleanup_buf struct buf root = {0};
	size_t i;

	(void)e;
	json_array_foreach(json_object_get(report, "groups"), i, g)
	{
		cleanup_free char *rule = rule_of(g);

		json_array_append_new(results, sarif_result(g, rule, add_rule(rules, rule, report), report));
	}
	buf_add_str(&root, "file://");
	add_uri(&root, source_root(report));
	buf_add_str(&root, "/");
	v = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:o}], s:{s:{s:s}}, s:s, s:o}]}", "$schema",
		      "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool", "driver",
		      "name", "fred", "version", FRED_VERSION, "rules", rules, "invocations", "executionSuccessful",
		      strcmp(report_str(report, "stopped"), "error") != 0, "commandLine",
		      *report_str(report, "check") ? json_sprintf("fredctl check %s", report_str(report, "check"))
						   : json_sprintf("fredctl bisect -- %s", program),
		      "originalUriBaseIds", "SRCROOT", "uri", buf_str(&root), "columnKind", "utf16CodeUnits", "results",
		      results);
	json_add_to(b, v);
	buf_add_char(b, '\n');
	return 0;
}

/* ---- GitHub ---- */

/* docs.github.com, "Workflow commands": data escapes %, CR and LF; properties : and , too. */
static void add_github(struct buf *b, const char *s, bool property)
{
	for (; *s; s++)
		if (*s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ',')))
			buf_addf(b, "%%%02X", (unsigned char)*s);
		else
			buf_add_char(b, *s);
}

static void add_annotation(struct buf *b, const json_t *g, const json_t *report)
{
	cleanup_free char *title = report_title(g);
	const json_t *culprit = json_object_get(g, "culprit");
	const char *file = report_str(culprit, "file"), *relative = below(file, source_root(report));
	json_auto_t *message = sarif_message(g, report);

	buf_add_str(b, "::error ");
	if (*file) {
		buf_add_str(b, "file=");
		add_github(b, relative ? relative : file, true);
		buf_addf(b, ",line=%lld,", report_int(culprit, "line"));
	}
	buf_add_str(b, "title=");
	add_github(b, title, true);
	buf_add_str(b, "::");
	add_github(b, json_string_value(message), false);
	add_github(b, "\n", false);
	add_github(b, report_str(json_object_get(g, "best"), "again"), false);
	buf_add_char(b, '\n');
}

int report_github(struct buf *b, const json_t *report, struct err *e)
{
	cleanup_free char *program = report_program(report), *summary = report_summary(report);
	json_t *g;
	size_t i;

	(void)e;
	json_array_foreach(json_object_get(report, "groups"), i, g) add_annotation(b, g, report);
	buf_add_str(b, "::notice title=");
	add_github(b, report_is_check(report) ? "fredctl check" : "fredctl bisect", true);
	buf_add_str(b, "::");
	add_github(b, program, false);
	add_github(b, ": ", false);
	add_github(b, summary, false);
	buf_add_char(b, '\n');
	return 0;
}
