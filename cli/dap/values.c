/* SPDX-License-Identifier: MIT */
/* values.c: frames, variables, expressions. A frame's id is its thread and its level; GDB's variable objects give
 * members. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

#define CHILDREN_MAX 1000

static int new_ref(struct dap *d, struct dap_ref ref)
{
	d->refs = xreallocarray(d->refs, d->nrefs + 1, sizeof(d->refs[0]));
	d->refs[d->nrefs++] = ref;
	return (int)d->nrefs;
}

static json_t *frame_json(int thread, const struct mi_value *f)
{
	const char *function = mi_str(f, "func"), *file = mi_str(f, "file"), *path = mi_str(f, "fullname");
	int level = 0, line = 0;
	json_t *o;

	mi_int(f, "level", &level);
	mi_int(f, "line", &line);
	o = json_pack("{s:i, s:o, s:i, s:i, s:o}", "id", thread * LEVELS + level, "name",
		      dap_text(function ? function : mi_str(f, "addr")), "line", line, "column", 0,
		      "instructionPointerReference", dap_text(mi_str(f, "addr")));
	if (path)
		json_object_set_new(o, "source",
				    json_pack("{s:o, s:o}", "name", dap_text(file), "path", dap_text(path)));
	/* an editor shows the first frame without this hint */
	if (!path || access(path, R_OK)) {
		json_object_set_new(o, "presentationHint", json_string("subtle"));
		json_object_set_new(json_object_get(o, "source"), "presentationHint", json_string("deemphasize"));
	}
	return o;
}

void dap_stack(struct dap *d, const json_t *request, const json_t *args)
{
	int thread = dap_int(args, "threadId", 1), first = dap_int(args, "startFrame", 0),
	    n = dap_int(args, "levels", 0);
	cleanup_free char *command = str_fmt("-stack-list-frames --thread %d %d %d", thread, first,
					     n > 0 && n < LEVELS ? first + n - 1 : LEVELS - 1);
	cleanup_free char *depth = str_fmt("-stack-info-depth --thread %d", thread);
	const struct mi_value *list;
	json_t *frames = json_array();
	struct mi_record *r, *total;
	int count = 0;

	if (!dap_try(d, &r, request, command)) {
		json_decref(frames);
		return;
	}
	list = mi_get(r->results, "stack");
	for (size_t i = 0; list && i < list->n; i++)
		json_array_append_new(frames, frame_json(thread, list->item[i]));
	total = dap_mi(d, "%s", depth);
	if (total)
		mi_int(total->results, "depth", &count);
	dap_respond(d, request,
		    json_pack("{s:o, s:i}", "stackFrames", frames, "totalFrames",
			      count > 0 ? count : first + (int)json_array_size(frames)));
	mi_record_free(total);
	mi_record_free(r);
}

void dap_scopes(struct dap *d, const json_t *request, const json_t *args)
{
	int id = dap_int(args, "frameId", 0);
	struct dap_ref ref = {.kind = REF_LOCALS, .thread = id / LEVELS, .frame = id % LEVELS};
	int locals = new_ref(d, ref), registers;

	ref.kind = REF_REGISTERS;
	registers = new_ref(d, ref);
	dap_respond(d, request,
		    json_pack("{s:[{s:s, s:s, s:i, s:b}, {s:s, s:s, s:i, s:b}]}", "scopes", "name", "Locals",
			      "presentationHint", "locals", "variablesReference", locals, "expensive", 0, "name",
			      "Registers", "presentationHint", "registers", "variablesReference", registers,
			      "expensive", 1));
}

/* A variable object as the editor sees it. */
static json_t *object_json(struct dap *d, const char *name, const struct mi_value *v)
{
	json_t *o = json_pack("{s:o, s:o}", "name", dap_text(name), "value", dap_text(mi_str(v, "value")));
	int children = 0, ref = 0;

	mi_int(v, "numchild", &children);
	if (children > 0)
		ref = new_ref(d, (struct dap_ref){.kind = REF_CHILDREN, .object = xstrdup(mi_str(v, "name"))});
	if (mi_str(v, "type"))
		json_object_set_new(o, "type", dap_text(mi_str(v, "type")));
	json_object_set_new(o, "variablesReference", json_integer(ref));
	if (mi_str(v, "value") && str_starts(mi_str(v, "value"), "0x")) {
		cleanup_free char *address = str_fmt("%.*s", (int)strcspn(mi_str(v, "value"), " "), mi_str(v, "value"));

		json_object_set_new(o, "memoryReference", dap_text(address));
	}
	return o;
}

static void add_locals(struct dap *d, const struct dap_ref *at, json_t *out)
{
	struct mi_record *r =
		dap_mi(d, "-stack-list-variables --thread %d --frame %d --no-values", at->thread, at->frame);
	const struct mi_value *list = r ? mi_get(r->results, "variables") : NULL;

	for (size_t i = 0; list && i < list->n; i++) {
		const char *name = mi_str(list->item[i], "name");
		struct mi_record *v = name ? dap_new_object(d, at->thread, at->frame, name) : NULL;

		if (v && !str_eq(v->klass, "error"))
			json_array_append_new(out, object_json(d, name, v->results));
		mi_record_free(v);
	}
	mi_record_free(r);
}

static void add_children(struct dap *d, const struct dap_ref *of, json_t *out)
{
	struct mi_record *r = dap_mi(d, "-var-list-children --all-values %s 0 %d", of->object, CHILDREN_MAX);
	const struct mi_value *list = r ? mi_get(r->results, "children") : NULL;

	for (size_t i = 0; list && i < list->n; i++)
		json_array_append_new(out, object_json(d, mi_str(list->item[i], "exp"), list->item[i]));
	mi_record_free(r);
}

static void add_registers(struct dap *d, const struct dap_ref *at, json_t *out)
{
	struct mi_record *names = dap_mi(d, "-data-list-register-names");
	struct mi_record *r = dap_mi(d, "-data-list-register-values --thread %d --frame %d --skip-unavailable x",
				     at->thread, at->frame);
	const struct mi_value *list = r ? mi_get(r->results, "register-values") : NULL;
	const struct mi_value *name = names ? mi_get(names->results, "register-names") : NULL;

	for (size_t i = 0; list && name && i < list->n; i++) {
		int n = -1;

		if (!mi_int(list->item[i], "number", &n) && n >= 0 && (size_t)n < name->n)
			json_array_append_new(out, json_pack("{s:o, s:o, s:i}", "name", dap_text(name->item[n]->str),
							     "value", dap_text(mi_str(list->item[i], "value")),
							     "variablesReference", 0));
	}
	mi_record_free(r);
	mi_record_free(names);
}

void dap_variables(struct dap *d, const json_t *request, const json_t *args)
{
	static void (*const add[])(struct dap *, const struct dap_ref *, json_t *) = {
		[REF_LOCALS] = add_locals, [REF_REGISTERS] = add_registers, [REF_CHILDREN] = add_children};
	int n = dap_int(args, "variablesReference", 0);
	json_t *list = json_array();

	if (n > 0 && (size_t)n <= d->nrefs) {
		struct dap_ref ref = d->refs[n - 1]; /* a copy, since the table may grow meanwhile */

		add[ref.kind](d, &ref, list);
	}
	dap_respond(d, request, json_pack("{s:o}", "variables", list));
}

/* Text that is not an expression may be a command of GDB or fred. Its text is sent as output. */
static void command(struct dap *d, const json_t *request, const char *line)
{
	cleanup_free char *quoted = mi_quote(line), *exec = str_fmt("-interpreter-exec console %s", quoted);

	d->by_console = true;
	d->back = str_starts(line, "reverse") || str_starts(line, "undo");
	if (dap_try(d, NULL, request, exec))
		dap_respond(d, request, json_pack("{s:s, s:i}", "result", "", "variablesReference", 0));
}

/* Asks GDB for the reason why an expression has no value, since for a variable object it gives none. */
static void why_not(struct dap *d, const json_t *request, int thread, int frame, const char *expr)
{
	cleanup_free char *quoted = mi_quote(expr), *at = str_fmt("--thread %d --frame %d ", thread, frame);
	struct mi_record *r = dap_mi(d, "-data-evaluate-expression %s%s", thread ? at : "", quoted);

	dap_refuse(d, request, dap_error(r));
	mi_record_free(r);
}

void dap_evaluate(struct dap *d, const json_t *request, const json_t *args)
{
	const char *expr = dap_str(args, "expression", "");
	int id = dap_int(args, "frameId", 0);
	struct mi_record *r = dap_new_object(d, id / LEVELS, id % LEVELS, expr);

	if (r && !str_eq(r->klass, "error")) {
		json_t *o = object_json(d, "", r->results);

		json_object_set(o, "result", json_object_get(o, "value"));
		json_object_del(o, "name");
		json_object_del(o, "value");
		dap_respond(d, request, o);
	} else if (r && str_eq(dap_str(args, "context", ""), "repl")) {
		command(d, request, expr);
	} else {
		why_not(d, request, id / LEVELS, id % LEVELS, expr);
	}
	mi_record_free(r);
}

/* ---- changes, in a copy of the program: forgotten when it moves ---- */

/* Executes -var-assign, and tells the editor the new value. */
static void assign(struct dap *d, const json_t *request, int thread, int frame, const char *expr, const char *value)
{
	struct mi_record *v = dap_new_object(d, thread, frame, expr), *r = NULL;
	cleanup_free char *quoted = mi_quote(value);

	if (v && !str_eq(v->klass, "error"))
		r = dap_mi(d, "-var-assign %s %s", mi_str(v->results, "name"), quoted);
	if (r && !str_eq(r->klass, "error")) {
		dap_respond(d, request, json_pack("{s:o}", "value", dap_text(mi_str(r->results, "value"))));
		if (d->takes_invalidated)
			dap_event(d, "invalidated", json_pack("{s:[s]}", "areas", "variables"));
	} else if (r) {
		dap_refuse(d, request, dap_error(r));
	} else {
		why_not(d, request, thread, frame, expr);
	}
	mi_record_free(r);
	mi_record_free(v);
}

void dap_set_variable(struct dap *d, const json_t *request, const json_t *args)
{
	const char *name = dap_str(args, "name", "");
	int thread = 0, frame = 0;
	cleanup_free char *expr = dap_expr_of(d, dap_int(args, "variablesReference", 0), name, &thread, &frame);

	if (expr)
		assign(d, request, thread, frame, expr, dap_str(args, "value", ""));
	else
		dap_refuse(d, request, "this variable no longer exists");
}

void dap_set_expression(struct dap *d, const json_t *request, const json_t *args)
{
	int id = dap_int(args, "frameId", 0);

	assign(d, request, id / LEVELS, id % LEVELS, dap_str(args, "expression", ""), dap_str(args, "value", ""));
}

/* ---- what may be typed ---- */

#define COMPLETIONS_MAX 200

/* The completions of a line that begins with this prefix, each as what replaces the last word, from `start` on. */
static void add_completions(struct dap *d, const char *prefix, const char *line, size_t start, json_t *out)
{
	cleanup_free char *whole = str_fmt("%s%s", prefix, line), *quoted = mi_quote(whole);
	struct mi_record *r = dap_mi(d, "-complete %s", quoted);
	const struct mi_value *list = r ? mi_get(r->results, "matches") : NULL;
	size_t skip = strlen(prefix) + start, len = strlen(line) - start;

	for (size_t i = 0; list && i < list->n && json_array_size(out) < COMPLETIONS_MAX; i++) {
		const char *match = list->item[i]->str;

		if (match && strlen(match) > skip && !strncmp(match, whole, skip))
			json_array_append_new(out, json_pack("{s:o, s:i, s:i}", "label", dap_text(match + skip),
							     "start", (int)start, "length", (int)len));
	}
	mi_record_free(r);
}

static size_t last_word(const char *line)
{
	size_t n = strlen(line);

	while (n && (line[n - 1] == '_' || line[n - 1] == '-' || (unsigned char)line[n - 1] >= 128 ||
		     strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", line[n - 1])))
		n--;
	/* a hyphen is part of a word only in names of commands, which begin a line */
	for (const char *dash = strrchr(line + n, '-'); n && dash; dash = NULL)
		n = (size_t)(dash + 1 - line);
	return n;
}

/* Expressions, and commands of GDB's and of fred's; both can be typed in a debug console. */
void dap_completions(struct dap *d, const json_t *request, const json_t *args)
{
	const char *text = dap_str(args, "text", "");
	int column = dap_int(args, "column", 1), from = d->columns_from_0 ? 0 : 1;
	cleanup_free char *line = str_fmt("%.*s", column > from ? column - from : 0, text);
	size_t start = last_word(line);
	json_t *list = json_array();

	if (*line) {
		add_completions(d, "", line, start, list);
		add_completions(d, "print ", line, start, list);
	}
	dap_respond(d, request, json_pack("{s:o}", "targets", list));
}

void dap_exception_info(struct dap *d, const json_t *request, const json_t *args)
{
	if (d->stop_id)
		dap_respond(d, request,
			    json_pack("{s:o, s:o, s:s}", "exceptionId", dap_text(d->stop_id), "description",
				      dap_text(d->stop_text), "breakMode", "always"));
	else
		dap_refuse(d, request, "the last stop was not caused by an exception or a signal");
}
