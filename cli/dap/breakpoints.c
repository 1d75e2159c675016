/* SPDX-License-Identifier: MIT */
/* breakpoints.c: those of a source file, or of functions: a request names all of them anew. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

/* source NULL: those of functions; all: all. */
static void remove_those(struct dap *d, const char *source, bool all)
{
	size_t left = 0;

	for (size_t i = 0; i < d->nbreakpoints; i++) {
		struct dap_breakpoint b = d->breakpoints[i];

		if (!all && !str_eq(b.source, source)) {
			d->breakpoints[left++] = b;
			continue;
		}
		if (!all)
			mi_record_free(dap_mi(d, "-break-delete %d", b.number));
		free(b.source);
	}
	d->nbreakpoints = left;
}

static void remember(struct dap *d, const char *source, int number)
{
	d->breakpoints = xreallocarray(d->breakpoints, d->nbreakpoints + 1, sizeof(d->breakpoints[0]));
	d->breakpoints[d->nbreakpoints++] = (struct dap_breakpoint){source ? xstrdup(source) : NULL, number};
}

static struct mi_record *insert_at(struct dap *d, const char *where, const json_t *wanted)
{
	const char *condition = dap_str(wanted, "condition", ""), *hits = dap_str(wanted, "hitCondition", "");
	cleanup_free char *place = mi_quote(where), *when = mi_quote(condition);
	unsigned long skip = strtoul(hits, NULL, 10);

	return dap_mi(d, "-break-insert -f -i %lu %s%s %s", skip ? skip - 1 : 0, *condition ? "-c " : "",
		      *condition ? when : "", place);
}

static const struct mi_value *bkpt(const struct mi_record *r)
{
	return r ? mi_get(r->results, "bkpt") : NULL;
}

/* A pattern for GDB that a file's name matches, and nothing else of that length. */
static char *pattern_of(const char *name)
{
	char *pattern = str_fmt("^%s$", name);

	for (char *p = pattern + 1; p[0] && p[1]; p++)
		if (strchr(".*+?[](){}|^$\\\" ", *p))
			*p = '.';
	return pattern;
}

/*
 * The path by which GDB knows a source file that has been edited since: that of the recording's copy, below a folder of
 * its own (cli/frontend/source_tree.h). NULL: there is no such.
 */
static char *copy_of(struct dap *d, const char *source)
{
	const char *base = strrchr(source, '/');
	cleanup_free char *pattern = pattern_of(base ? base + 1 : source);
	struct mi_record *r = base ? dap_mi(d, "-file-list-exec-source-files --basename -- %s", pattern) : NULL;
	const struct mi_value *list = r ? mi_get(r->results, "files") : NULL;
	char *found = NULL;

	for (size_t i = 0; list && i < list->n && !found; i++) {
		const char *path = mi_str(list->item[i], "fullname");

		if (path && str_ends(path, source) && !str_eq(path, source))
			found = xstrdup(path);
	}
	mi_record_free(r);
	return found;
}

/* One that GDB could not place yet, in the copy of its file. */
static struct mi_record *insert_in_copy(struct dap *d, struct mi_record *pending, const char *source,
					const json_t *wanted)
{
	cleanup_free char *copy = source ? copy_of(d, source) : NULL;
	cleanup_free char *where = copy ? str_fmt("%s:%d", copy, dap_int(wanted, "line", 0)) : NULL;
	int number;

	if (!where)
		return pending;
	if (!mi_int(bkpt(pending), "number", &number))
		mi_record_free(dap_mi(d, "-break-delete %d", number));
	mi_record_free(pending);
	return insert_at(d, where, wanted);
}

/* One breakpoint; what the editor is told about it. */
static json_t *insert(struct dap *d, const char *source, const char *where, const json_t *wanted)
{
	struct mi_record *r = insert_at(d, where, wanted);
	const struct mi_value *b;
	int number, line;
	json_t *o;

	if (bkpt(r) && mi_get(bkpt(r), "pending"))
		r = insert_in_copy(d, r, source, wanted);
	b = bkpt(r);
	o = json_pack("{s:b}", "verified", b && !mi_get(b, "pending"));

	if (b && !mi_int(b, "number", &number)) {
		remember(d, source, number);
		json_object_set_new(o, "id", json_integer(number));
	} else {
		json_object_set_new(o, "message", json_text(dap_error(r), strlen(dap_error(r))));
	}
	if (b && !mi_int(b, "line", &line))
		json_object_set_new(o, "line", json_integer(line));
	mi_record_free(r);
	return o;
}

void dap_set_breakpoints(struct dap *d, const json_t *request, const json_t *args)
{
	const char *source = dap_str(json_object_get(args, "source"), "path", "");
	json_t *list = json_array(), *wanted;
	size_t i;

	remove_those(d, source, false);
	json_array_foreach(json_object_get(args, "breakpoints"), i, wanted)
	{
		cleanup_free char *where = str_fmt("%s:%d", source, dap_int(wanted, "line", 0));

		json_array_append_new(list, insert(d, source, where, wanted));
	}
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

void dap_set_functions(struct dap *d, const json_t *request, const json_t *args)
{
	json_t *list = json_array(), *wanted;
	size_t i;

	remove_those(d, NULL, false);
	json_array_foreach(json_object_get(args, "breakpoints"), i, wanted)
		json_array_append_new(list, insert(d, NULL, dap_str(wanted, "name", ""), wanted));
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

void dap_breakpoints_fini(struct dap *d)
{
	remove_those(d, NULL, true);
	free(d->breakpoints);
}
