/* SPDX-License-Identifier: MIT */
/* memory_cause.c: see memory_cause.h. */
#include "executed/memory_cause.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "explain/ops.h"
#include "memcheck/ops.h"
#include "replay/show.h"

#define ACCESSES_MOST 50000000u

static const char *text_of(const json_t *o, const char *of, const char *key)
{
	return json_string_value(json_object_get(json_object_get(o, of), key));
}

static bool is_any(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (str_eq(s, *list))
			return true;
	return false;
}

/* Is it a failure to which a memory error may have led, and which the chain does not explain by one? */
static bool is_open(const json_t *result)
{
	static const char *const kinds[] = {"assertion", "segfault", "jump", "divide", "illegal",	"exception",
					    "terminate", "abort",    "exit", "heap",   "smashed-stack", NULL};

	if (!is_any(text_of(result, "failure", "kind"), kinds) || str_eq(text_of(result, "end", "kind"), "freed"))
		return false;
	return !str_eq(text_of(result, "failure", "kind"), "heap") || !json_is_true(json_object_get(result, "found"));
}

static bool is_same_place(const json_t *a, const json_t *b)
{
	const json_t *p = json_object_get(a, "location"), *q = json_object_get(b, "location");

	return json_equal(json_object_get(p, "file"), json_object_get(q, "file")) &&
	       json_equal(json_object_get(p, "line"), json_object_get(q, "line"));
}

/* Do both name the same statement, between the same two events? */
static bool is_same_moment(const json_t *a, const json_t *b)
{
	const json_t *p = json_object_get(a, "position"), *q = json_object_get(b, "position");

	return is_same_place(a, b) && json_equal(json_object_get(p, "event"), json_object_get(q, "event"));
}

/* moment: as moment_json makes it. */
static json_t *step_of(const json_t *moment, json_t *process, const char *role, const char *words)
{
	return json_pack("{s:s, s:s, s:O, s:O, s:O, s:O, s:n, s:n, s:n, s:O}", "role", role, "words", words, "at",
			 json_object_get(moment, "at"), "process", process, "position",
			 json_object_get(moment, "position"), "location", json_object_get(moment, "location"),
			 "expression", "before", "after", "backtrace", json_object_get(moment, "backtrace"));
}

/* Is the statement in a function of a header, so that the function may be inlined into another one? */
static bool is_in_header(const json_t *finding)
{
	const char *statement = text_of(finding, "location", "file");
	const json_t *frame;
	size_t k;

	json_array_foreach(json_object_get(finding, "backtrace"), k, frame)
	{
		const char *file = json_string_value(json_object_get(frame, "file"));

		if (file && str_eq(file, statement))
			return false;
		if (file && path_is_system(file))
			return true;
	}
	return false;
}

/* The free, and the statement that led to it. */
static void add_free(struct rec *rec, struct op_ctx *ctx, json_t *chain, const json_t *freed, json_t *process,
		     uint64_t block)
{
	json_t *step = step_of(freed, process, "free", "the block was freed here, and used afterwards"), *giver;

	json_array_append_new(chain, step);
	explain_look(rec, ctx, step, block, &giver);
	if (giver)
		json_array_append_new(chain, giver);
}

static void end_there(struct rec *rec, struct op_ctx *ctx, json_t *result, const json_t *finding)
{
	json_t *chain = json_object_get(result, "chain"), *process = json_object_get(result, "process"),
	       *freed = json_object_get(json_object_get(finding, "block"), "freed"), *last, *access;
	bool writes = json_is_true(json_object_get(finding, "write")),
	     found = json_is_true(json_object_get(result, "found"));
	const char *words = json_string_value(json_object_get(finding, "words")), *was = text_of(result, "end", "text");
	cleanup_free char *note = NULL;
	json_t *none;

	last = json_array_get(chain, json_array_size(chain) - 1);
	/* if it is the failure itself, what led to it has been followed already */
	if (found && !json_is_object(freed) &&
	    (is_same_place(last, finding) || is_same_moment(json_array_get(chain, 0), finding)))
		return;
	note = str_fmt(
		"a memory error came before the failure, and what follows from one is not to be relied on: it is "
		"told as the cause (without it, the chain ended here: %s)",
		was ? was : "?");
	access = step_of(finding, process, writes ? "write" : "load", words);
	if (is_in_header(finding))
		explain_look(rec, ctx, access, 0, &none);
	json_array_append_new(chain, access);
	if (json_is_object(freed))
		add_free(rec, ctx, chain, freed, process, strtoull(text_of(finding, "block", "address"), NULL, 16));
	show_note(result, note);
	json_object_set_new(result, "found", json_true());
	json_object_set(result, "cause", json_array_get(chain, json_array_size(chain) - 1));
	json_object_set_new(result, "end",
			    json_pack("{s:s, s:s}", "kind", json_is_object(freed) ? "freed" : "computed", "text",
				      json_is_object(freed) ? "the memory was used after it was freed" : words));
}

void memory_cause_add(struct rec *rec, struct op_ctx *ctx, json_t *result)
{
	uint32_t process = (uint32_t)json_integer_value(json_object_get(result, "process"));
	json_auto_t *finding = NULL;
	struct err e;

	if (!is_open(result))
		return;
	if (memcheck_first_error(rec, process, ctx, ACCESSES_MOST, &finding, &e)) {
		cleanup_free char *note = str_fmt("memory errors were not looked for: %s", e.text);

		show_note(result, note);
	} else if (finding) {
		end_there(rec, ctx, result, finding);
	}
}
