/* SPDX-License-Identifier: MIT */
/*
 * op_watch.c: reverse_watch. Without a given process, those of the recording are tried in the order in which
 * the user most likely means them (replay/pick.h), until the expression turns in one.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "ops/operations.h"
#include "reclog/procs.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "watch/watch.h"

static int parse_on_error(const char *s, enum search_on_error *out, struct err *e)
{
	static const char *const names[] = {"good", "bad", "fail"};

	*out = SEARCH_ON_ERROR_NEITHER;
	for (int i = 0; s && i < 3; i++)
		if (!strcmp(s, names[i])) {
			*out = (enum search_on_error)(SEARCH_ON_ERROR_GOOD + i);
			return 0;
		}
	return s ? err_set(e, ERR_USAGE, "on_error: '%s' is not good, bad or fail", s) : 0;
}

/* As watch_process. */
static int try_one(const struct rec *rec, uint32_t process, struct watch_params *p, struct gdb *g, struct op_ctx *ctx,
		   json_t **result, struct err *e)
{
	struct watch_result found;
	int r = watch_process(rec, process, p, g, ctx, &found, e);

	if (r == WATCH_FOUND) {
		watch_result_use_sources(&found, rec);
		*result = watch_result_json(&found);
		show_process(*result, rec, process);
	}
	watch_result_fini(&found);
	if (r == WATCH_NO_SYMBOL)
		err_wrap(e, "%s", p->expr);
	return r;
}

static int try_all(const struct rec *rec, const uint32_t *order, unsigned n, struct watch_params *p, struct gdb *g,
		   struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct err first = {0}, equal = {0}, why;
	unsigned of_equal = 0;

	p->inside = n == 1;
	for (unsigned i = 0; i < n; i++) {
		int r;

		p->suggest = !equal.kind;
		r = try_one(rec, order[i], p, g, ctx, result, &why);
		if (r == WATCH_FOUND)
			return 0;
		if (r < 0) {
			*e = why;
			return n > 1 ? err_wrap(e, "process %u", order[i]) : -1;
		}
		if (r == WATCH_EQUAL && !equal.kind) {
			equal = why;
			of_equal = order[i];
		}
		if (!first.kind)
			first = why;
	}
	/*
	 * if the expression has the same value at the start and at the end of every process, it may still change in
	 * between: then the most likely process is searched for that
	 */
	p->suggest = p->inside = true;
	if (n > 1 && of_equal) {
		int r = try_one(rec, of_equal, p, g, ctx, result, &equal);

		if (r == WATCH_FOUND)
			return 0;
	}
	/* an expression that has a value somewhere is not misspelt */
	*e = equal.kind ? equal : first;
	return -1;
}

int op_reverse_watch(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct watch_params p = {
		.expr = json_string_value(json_object_get(params, "expr")),
		.good = json_string_value(json_object_get(params, "good")),
		.bad = json_string_value(json_object_get(params, "bad")),
		.asked = params,
		.nth = (uint64_t)json_integer_value(json_object_get(params, "nth")),
		.anywhere = json_is_true(json_object_get(params, "anywhere")),
		.all = json_is_true(json_object_get(params, "last")),
		.insn = json_is_true(json_object_get(params, "insn")),
	};
	cleanup_free uint32_t *order = NULL;
	cleanup_gdb struct gdb *g = NULL;
	struct rec *rec;
	unsigned n;
	int r = -1;

	if (parse_on_error(json_string_value(json_object_get(params, "on_error")), &p.on_error, e) ||
	    pick_rec(params, &rec, e))
		return -1;
	order = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(*order));
	if (json_object_get(params, "process")) {
		order[0] = pick_process(params, rec, e);
		n = order[0] ? 1 : 0;
	} else {
		n = procs_order(rec, order);
		if (!n)
			err_set(e, ERR_USAGE, "%s: the recording holds no process", rec->dir);
	}
	if (n && (g = gdb_new(&gdb_with_scripts, e)))
		r = try_all(rec, order, n, &p, g, ctx, result, e);
	rec_free(rec);
	return r;
}
