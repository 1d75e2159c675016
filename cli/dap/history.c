/* SPDX-License-Identifier: MIT */
/*
 * history.c: requests of fred's own: fred/position, fred/goto, fred/reverseWatch, fred/checkpoints, fred/checkpoint,
 * fred/bookmark (docs/editors.md). Those that move the program are answered when it has stopped again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

#define REFUSED "fred: "

/* ---- the position ---- */

/* The next word after a text, to be freed; NULL: the text is not there. */
static char *word_after(const char *in, const char *text, const char *ends)
{
	const char *at = strstr(in, text);

	return at ? str_fmt("%.*s", (int)strcspn(at + strlen(text), ends), at + strlen(text)) : NULL;
}

/* Parses "event 2 of 8, 2/0x7ffff7aa90a1#1, 0.004 s ...". */
static json_t *parse_when(const char *said)
{
	cleanup_free char *event = word_after(said, "event ", " "), *total = word_after(said, " of ", ","),
			  *position = word_after(said, ", ", ",\n");
	uint64_t n, all;

	if (!position || !event || !total || str_u64(event, 10, 0, INT64_MAX, &n) ||
	    str_u64(total, 10, 0, INT64_MAX, &all))
		return NULL;
	return json_pack("{s:I, s:I, s:o}", "event", (json_int_t)n, "events", (json_int_t)all, "position",
			 dap_text(position));
}

/* Reverses GDB's quoting of a string. */
static char *unquoted(const char *value)
{
	cleanup_buf struct buf out = {0};
	size_t len = strlen(value);

	if (len < 2 || *value != '"' || value[len - 1] != '"')
		return NULL;
	for (const char *p = value + 1; p < value + len - 1; p++) {
		p += *p == '\\' && p + 1 < value + len - 1;
		buf_add_char(&out, *p);
	}
	return xstrdup(buf_str(&out));
}

static char *recording(struct dap *d)
{
	cleanup_free char *value = dap_value(d, 0, 0, "$_fred_recording", NULL);

	return value ? unquoted(value) : NULL;
}

static void refuse(struct dap *d, const json_t *request, const char *why)
{
	bool prefixed = why && str_starts(why, REFUSED);
	cleanup_free char *text = xstrdup(why ? why + (prefixed ? strlen(REFUSED) : 0) : "GDB gave no answer");

	text[strcspn(text, "\n")] = '\0';
	dap_refuse(d, request, text);
}

void dap_position(struct dap *d, const json_t *request, const json_t *args)
{
	cleanup_free char *why = NULL, *said = dap_console(d, 0, 0, "when", &why), *rec = recording(d);
	json_t *o = said ? parse_when(said) : NULL;

	if (!o) {
		refuse(d, request, said ? said : why);
		return;
	}
	json_object_set_new(o, "recording", rec ? dap_text(rec) : json_null());
	dap_respond(d, request, o);
}

/* ---- lists ---- */

/* Parses lines of "NAME   POSITION"; a name may have spaces. */
static json_t *parse_places(const char *said)
{
	cleanup_strv struct strv lines = {0};
	json_t *list = json_array();

	strv_split(&lines, said, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.s[i], *position = strrchr(line, ' ');
		size_t len = position ? (size_t)(position - line) : 0;

		while (len && line[len - 1] == ' ')
			len--;
		if (len && position[1] >= '0' && position[1] <= '9')
			json_array_append_new(list, json_pack("{s:o, s:o}", "name", json_text(line, len), "position",
							      dap_text(position + 1)));
	}
	return list;
}

void dap_checkpoints(struct dap *d, const json_t *request, const json_t *args)
{
	cleanup_free char *why = NULL, *checkpoints = dap_console(d, 0, 0, "checkpoints", &why),
			  *bookmarks = checkpoints ? dap_console(d, 0, 0, "bookmarks", &why) : NULL;

	if (!bookmarks) {
		refuse(d, request, why);
		return;
	}
	dap_respond(d, request,
		    json_pack("{s:o, s:o}", "checkpoints", parse_places(checkpoints), "bookmarks",
			      parse_places(bookmarks)));
}

/* Runs a command that gives this position a name, and prints it: "Checkpoint 1: POSITION". */
static void name_place(struct dap *d, const json_t *request, const char *command, const char *begins)
{
	cleanup_free char *why = NULL, *said = dap_console(d, 0, 0, command, &why),
			  *name = said ? word_after(said, begins, ":") : NULL,
			  *position = said ? word_after(said, ": ", "\n") : NULL;

	if (name && position && !str_starts(said, REFUSED))
		dap_respond(d, request,
			    json_pack("{s:o, s:o}", "name", dap_text(name), "position", dap_text(position)));
	else
		refuse(d, request, said ? said : why);
}

void dap_checkpoint(struct dap *d, const json_t *request, const json_t *args)
{
	name_place(d, request, "checkpoint", "Checkpoint ");
}

/* Is the text free of line ends and other control characters? A line end would end GDB's command. */
static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			return false;
	return true;
}

void dap_bookmark(struct dap *d, const json_t *request, const json_t *args)
{
	const char *name = dap_str(args, "name", "");
	cleanup_free char *command = str_fmt("bookmark %s", name);

	if (strpbrk(name, " :\"'\\") || !is_line(name))
		dap_refuse(d, request, "a bookmark's name is one word, without quotes and colons");
	else
		name_place(d, request, command, "bookmark ");
}

/* ---- moves ---- */

/*
 * Executes a GDB command that moves the program. The request is answered by dap_arrived, when the program has stopped.
 */
static void move_by(struct dap *d, const json_t *request, const char *command)
{
	cleanup_free char *quoted = mi_quote(command);
	struct mi_record *r;

	d->back = d->by_console = true;
	d->waiting = json_deep_copy(request);
	buf_clear(&d->moved);
	r = dap_mi(d, "-interpreter-exec console %s", quoted);
	if (d->waiting && (!r || !str_eq(r->klass, "running"))) {
		json_decref(d->waiting);
		d->waiting = NULL;
		refuse(d, request, r && !str_eq(r->klass, "error") ? buf_str(&d->moved) : dap_error(r));
	}
	mi_record_free(r);
}

static bool may_move(struct dap *d, const json_t *request, const char *text)
{
	const char *why = d->running	  ? "the program is running"
			  : d->waiting	  ? "another such request is not finished"
			  : !*text	  ? "what to look for, or where to go, is missing"
			  : is_line(text) ? NULL
					  : "more than one line";

	if (why)
		dap_refuse(d, request, why);
	return !why;
}

void dap_goto(struct dap *d, const json_t *request, const json_t *args)
{
	const char *position = dap_str(args, "position", "");
	cleanup_free char *command = str_fmt("goto %s", position);

	if (may_move(d, request, position))
		move_by(d, request, command);
}

/* For a number or a pointer: the condition that it has the value that it has now; for other objects NULL. */
static char *has_this_value(struct dap *d, int thread, int frame, const char *expr, const char *everywhere)
{
	cleanup_free char *as_integer = str_fmt("(long long) (%s)", expr), *value = NULL,
			  *ptype = str_fmt("ptype %s", expr), *type = NULL, *sizeof_it = str_fmt("sizeof(%s)", expr),
			  *size = NULL;
	struct mi_record *r = dap_new_object(d, thread, frame, expr);
	uint64_t bytes;
	int children = 1;
	bool known = r && !str_eq(r->klass, "error");
	const char *shown = known ? mi_str(r->results, "value") : NULL;

	if (known)
		mi_int(r->results, "numchild", &children);
	/* a pointer has what it points to as a child, an object its members, and `{...}` or `[N]` as its value */
	known = known && shown && *shown && *shown != '{' && *shown != '[';
	if (known) {
		value = dap_value(d, thread, frame, as_integer, NULL);
		type = dap_console(d, thread, frame, ptype, NULL);
		size = dap_value(d, thread, frame, sizeof_it, NULL);
	}
	mi_record_free(r);
	if (!value || !type || !size || str_u64(size, 10, 1, 8, &bytes))
		return NULL;
	if (!children && (strstr(type, "float") || strstr(type, "double")))
		return NULL;
	return str_fmt("(long long) (%s) == %s", everywhere, value);
}

/*
 * "expression": a condition; goes back to where it turned. With "value" it is a variable: goes back to where that got
 * its present value or, if it is neither a number nor a pointer, to its last change.
 */
void dap_reverse_watch(struct dap *d, const json_t *request, const json_t *args)
{
	int ref = dap_int(args, "variablesReference", 0), id = dap_int(args, "frameId", 0), thread = id / LEVELS,
	    frame = id % LEVELS;
	const char *given = dap_str(args, ref ? "name" : "expression", "");
	cleanup_free char *expr = ref ? dap_expr_of(d, ref, given, &thread, &frame) : xstrdup(given), *why = NULL,
			  *everywhere = NULL, *condition = NULL, *command = NULL, *object = NULL;
	bool value = ref || json_is_true(json_object_get(args, "value"));

	if (!may_move(d, request, expr ? expr : ""))
		return;
	everywhere = dap_expr_everywhere(d, thread, frame, expr, &why);
	if (everywhere && value)
		condition = has_this_value(d, thread, frame, expr, everywhere);
	if (everywhere && value && !condition)
		object = dap_object(d, thread, frame, expr, &why);
	if (!everywhere || (value && !condition && !object)) {
		refuse(d, request, why);
		return;
	}
	command = object      ? str_fmt("last %s", object)
		  : condition ? str_fmt("reverse-watch --last %s", condition)
			      : str_fmt("reverse-watch %s", everywhere);
	move_by(d, request, command);
}

/* Do these lines say why the program did not move? */
static bool was_refused(const char *said)
{
	return str_starts(said, REFUSED) || strstr(said, "\n" REFUSED);
}

bool dap_arrived(struct dap *d)
{
	json_t *request = d->waiting;
	cleanup_free char *at = NULL;
	const char *said = buf_str(&d->moved);
	bool good = request && !was_refused(said);

	d->waiting = NULL;
	if (good) {
		at = word_after(said, "\nat ", ",\n");
		dap_respond(
			d, request,
			json_pack("{s:o, s:o}", "text", dap_text(said), "position", at ? dap_text(at) : json_null()));
	} else if (request) {
		refuse(d, request, strstr(said, REFUSED));
	}
	json_decref(request);
	buf_clear(&d->moved);
	return good;
}

void dap_waiting_gone(struct dap *d)
{
	json_t *request = d->waiting;

	d->waiting = NULL;
	if (request)
		dap_refuse(d, request, "the debugging session has ended");
	json_decref(request);
}
