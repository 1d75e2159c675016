/* SPDX-License-Identifier: MIT */
/* breakpoints.c: breakpoints in a source file or on functions: each request lists all that there are to be. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

/* Deletes the breakpoints of a source file or a group; all: those of all files and groups. */
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
	d->breakpoints[d->nbreakpoints++] = (struct dap_breakpoint){xstrdup(source), number};
}

/*
 * How many hits are ignored before the breakpoint stops the program: N - 1 for "N" or ">= N", N for "> N". -1: the text
 * is none of these.
 */
static int hits_to_pass(const json_t *wanted, uint64_t *n)
{
	const char *text = dap_str(wanted, "hitCondition", "");
	bool more;

	*n = 0;
	text += strspn(text, " ");
	if (!*text)
		return 0;
	more = *text == '>' && text[1] != '=';
	text += more ? 1 : *text == '>' ? 2 : 0;
	text += strspn(text, " ");
	if (str_u64(text, 10, 0, INT32_MAX, n))
		return -1;
	*n -= *n && !more;
	return 0;
}

/* Says why a breakpoint was not set; r: GDB's answer, if it was asked. */
static const char *refusal(const json_t *wanted, const struct mi_record *r)
{
	uint64_t n;

	return hits_to_pass(wanted, &n) ? "a hit count is N (it stops at the hit N and each later one), >= N or > N"
					: dap_error(r);
}

static struct mi_record *insert_at(struct dap *d, const char *where, const json_t *wanted)
{
	const char *condition = dap_str(wanted, "condition", "");
	cleanup_free char *place = mi_quote(where), *when = mi_quote(condition);
	uint64_t skip;

	if (hits_to_pass(wanted, &skip))
		return NULL;
	return dap_mi(d, "-break-insert -f -i %d %s%s %s", (int)skip, *condition ? "-c " : "", *condition ? when : "",
		      place);
}

static const struct mi_value *bkpt(const struct mi_record *r)
{
	return r ? mi_get(r->results, "bkpt") : NULL;
}

/* A pattern for GDB that matches the file's name, and no other name of the same length. */
static char *pattern_of(const char *name)
{
	char *pattern = str_fmt("^%s$", name);

	for (char *p = pattern + 1; p[0] && p[1]; p++)
		if (strchr(".*+?[](){}|^$\\\" ", *p))
			*p = '.';
	return pattern;
}

/*
 * If a source file has been edited since the recording, GDB knows it by the path of the recording's copy
 * (cli/frontend/source_tree.h). Returns that path; NULL: there is no copy.
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

/* Tries again to set, in the copy of its file, a breakpoint that GDB could not place. */
static struct mi_record *insert_in_copy(struct dap *d, struct mi_record *pending, const char *source,
					const json_t *wanted)
{
	cleanup_free char *copy = *source == '/' ? copy_of(d, source) : NULL;
	cleanup_free char *where = copy ? str_fmt("%s:%d", copy, dap_int(wanted, "line", 0)) : NULL;
	int number;

	if (!where)
		return pending;
	if (!mi_int(bkpt(pending), "number", &number))
		mi_record_free(dap_mi(d, "-break-delete %d", number));
	mi_record_free(pending);
	return insert_at(d, where, wanted);
}

/* Sets one breakpoint; returns what the editor is told about it. */
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
		json_object_set_new(o, "message", dap_text(refusal(wanted, r)));
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

	remove_those(d, GROUP_FUNCTIONS, false);
	json_array_foreach(json_object_get(args, "breakpoints"), i, wanted)
		json_array_append_new(list, insert(d, GROUP_FUNCTIONS, dap_str(wanted, "name", ""), wanted));
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

void dap_set_instructions(struct dap *d, const json_t *request, const json_t *args)
{
	json_t *list = json_array(), *wanted;
	size_t i;

	remove_those(d, GROUP_INSTRUCTIONS, false);
	json_array_foreach(json_object_get(args, "breakpoints"), i, wanted)
	{
		cleanup_free char *where = str_fmt("*((%s) + %d)", dap_str(wanted, "instructionReference", "0"),
						   dap_int(wanted, "offset", 0));

		json_array_append_new(list, insert(d, GROUP_INSTRUCTIONS, where, wanted));
	}
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

/* ---- data ---- */

static const struct {
	/* the type in the protocol; the option of -break-watch; the field of its result */
	const char *type, *option, *result;
} accesses[] = {
	{"write", "", "wpt"},
	{"read", "-r", "hw-rwpt"},
	{"readWrite", "-a", "hw-awpt"},
};

void dap_data_info(struct dap *d, const json_t *request, const json_t *args)
{
	int ref = dap_int(args, "variablesReference", 0), id = dap_int(args, "frameId", 0), thread = id / LEVELS,
	    frame = id % LEVELS;
	const char *name = dap_str(args, "name", "");
	cleanup_free char *expr = ref ? dap_expr_of(d, ref, name, &thread, &frame) : xstrdup(name);
	cleanup_free char *why = NULL, *object = expr ? dap_object(d, thread, frame, expr, &why) : NULL;
	json_t *o = json_pack("{s:o, s:o}", "dataId", object ? dap_text(object) : json_null(), "description",
			      dap_text(object ? expr
				       : why  ? why
					      : "this is not in memory"));

	if (object)
		json_object_set_new(o, "accessTypes", json_pack("[s, s, s]", "write", "read", "readWrite"));
	dap_respond(d, request, o);
}

/*
 * Sets a watchpoint, then its condition and count. The result is to be freed; *number: GDB's number, or 0 if GDB
 * refused.
 */
static struct mi_record *watch(struct dap *d, const json_t *wanted, int *number)
{
	cleanup_free char *expr = mi_quote(dap_str(wanted, "dataId", "")),
			  *when = mi_quote(dap_str(wanted, "condition", ""));
	const char *type = dap_str(wanted, "accessType", "write");
	struct mi_record *r, *refused = NULL;
	uint64_t skip;
	size_t i = 0;

	while (i + 1 < sizeof(accesses) / sizeof(accesses[0]) && !str_eq(accesses[i].type, type))
		i++;
	*number = 0;
	if (hits_to_pass(wanted, &skip))
		return NULL;
	r = dap_mi(d, "-break-watch %s %s", accesses[i].option, expr);
	if (!r || mi_int(mi_get(r->results, accesses[i].result), "number", number))
		return r;
	if (*dap_str(wanted, "condition", ""))
		refused = dap_mi(d, "-break-condition %d %s", *number, when);
	if (refused && !str_eq(refused->klass, "error"))
		mi_record_free(steal_ptr(&refused));
	if (!refused && skip)
		mi_record_free(dap_mi(d, "-break-after %d %d", *number, (int)skip));
	if (!refused)
		return r;
	mi_record_free(r);
	mi_record_free(dap_mi(d, "-break-delete %d", *number));
	*number = 0;
	return refused;
}

void dap_set_data(struct dap *d, const json_t *request, const json_t *args)
{
	json_t *list = json_array(), *wanted;
	size_t i;

	remove_those(d, GROUP_DATA, false);
	json_array_foreach(json_object_get(args, "breakpoints"), i, wanted)
	{
		int number;
		struct mi_record *r = watch(d, wanted, &number);
		json_t *o = json_pack("{s:b}", "verified", number > 0);

		if (number) {
			remember(d, GROUP_DATA, number);
			json_object_set_new(o, "id", json_integer(number));
		} else {
			json_object_set_new(o, "message", dap_text(refusal(wanted, r)));
		}
		mi_record_free(r);
		json_array_append_new(list, o);
	}
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

/* ---- exceptions ---- */

/* The signals that end a program that does not handle them; GDB stops at these by default, too. */
#define FATAL "SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGSYS"

static bool wants(const json_t *args, const char *filter)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(args, "filters"), i,
			   one) if (str_eq(json_string_value(one), filter)) return true;
	return false;
}

static json_t *catch_it(struct dap *d, const char *group, const char *command)
{
	struct mi_record *r = dap_mi(d, "%s", command);
	const struct mi_value *b = bkpt(r);
	json_t *o = json_pack("{s:b}", "verified", b != NULL);
	int number;

	if (b && !mi_int(b, "number", &number)) {
		remember(d, group, number);
		json_object_set_new(o, "id", json_integer(number));
	} else {
		json_object_set_new(o, "message", dap_text(dap_error(r)));
	}
	mi_record_free(r);
	return o;
}

/* Nothing can be set before there is a program: the editor is to send the request after the event `initialized`. */
void dap_set_exceptions(struct dap *d, const json_t *request, const json_t *args)
{
	static const struct {
		const char *filter, *group, *command;
	} catches[] = {{"throw", GROUP_THROW, "-catch-throw"}, {"catch", GROUP_CATCH, "-catch-catch"}};
	json_t *list = json_array(), *one;
	cleanup_free char *said = dap_console(
		d, 0, 0, wants(args, "signals") ? "handle " FATAL " stop print" : "handle " FATAL " nostop noprint",
		NULL);
	size_t i;

	for (i = 0; i < 2; i++)
		remove_those(d, catches[i].group, false);
	json_array_foreach(json_object_get(args, "filters"), i, one)
	{
		const char *filter = json_string_value(one);
		json_t *o = NULL;

		for (size_t k = 0; k < 2 && !o; k++)
			if (str_eq(catches[k].filter, filter))
				o = catch_it(d, catches[k].group, catches[k].command);
		if (!o && str_eq(filter, "signals"))
			o = json_pack("{s:b}", "verified", said != NULL);
		json_array_append_new(
			list, o ? o : json_pack("{s:b, s:s}", "verified", 0, "message", "there is no such filter"));
	}
	dap_respond(d, request, json_pack("{s:o}", "breakpoints", list));
}

bool dap_breakpoint_is(const struct dap *d, int number, const char *group)
{
	for (size_t i = 0; i < d->nbreakpoints; i++)
		if (d->breakpoints[i].number == number && str_eq(d->breakpoints[i].source, group))
			return true;
	return false;
}

void dap_breakpoints_fini(struct dap *d)
{
	remove_those(d, NULL, true);
	free(d->breakpoints);
}
