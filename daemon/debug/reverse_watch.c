/* SPDX-License-Identifier: MIT */
/* reverse_watch.c: see reverse_watch.h. */
#define LOG_DOMAIN "watch"
#include "debug/reverse_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "timetravel/cursor_int.h"
#include "replay/show.h"
#include "watch/watch.h"

static void show(void *arg, double fraction, const char *text)
{
	busy_show(arg, fraction, text ? text : "searching");
}

/* libstdc++ brings the methods that the compiler inlined, such as size(). */
static const struct gdb_opts with_scripts = {.auto_load = true};

static int search(struct debug *d, const struct watch_params *p, json_t **result, struct err *e)
{
	struct op_ctx ctx = {.fd = -1, .show = show, .cancelled = busy_is_over, .arg = d};
	cleanup_gdb struct gdb *g = gdb_new(&with_scripts, e);
	int r;

	if (!g)
		return -1;
	r = watch_process(d->rec, d->nav.t.process, p, g, &ctx, result, e);
	if (r == WATCH_NO_SYMBOL)
		err_wrap(e, "%s", p->expr);
	if (!r)
		show_sources(*result, d->rec);
	return r ? -1 : 0;
}

/* Cuts the first word off *args. */
static char *word(char **args)
{
	char *w = *args + strspn(*args, " \t");

	*args = w + strcspn(w, " \t");
	if (**args)
		*(*args)++ = '\0';
	*args += strspn(*args, " \t");
	return w;
}

/* [--good POS] [--bad POS] [--last | --first | --nth N] [--insn] EXPR; the text is cut. */
static int parse(char *args, struct watch_params *p, struct err *e)
{
	args += strspn(args, " \t");
	while (str_starts(args, "--") && args[2] >= 'a' && args[2] <= 'z') {
		const char *option = word(&args);

		if (!strcmp(option, "--good"))
			p->good = word(&args);
		else if (!strcmp(option, "--bad"))
			p->bad = word(&args);
		else if (!strcmp(option, "--last"))
			p->all = true;
		else if (!strcmp(option, "--insn"))
			p->insn = true;
		else if (!strcmp(option, "--first"))
			p->nth = 1;
		else if (strcmp(option, "--nth"))
			return err_set(e, ERR_USAGE, "reverse-watch: unknown option %s", option);
		else if (str_u64(word(&args), 10, 1, INT64_MAX, &p->nth))
			return err_set(e, ERR_USAGE, "reverse-watch --nth N: which one, from 1?");
	}
	p->expr = args;
	return *args ? 0
		     : err_set(e, ERR_USAGE, "reverse-watch [--good POS] [--bad POS] [--last|--first|--nth N] [--insn] EXPR: which expression?");
}

static void describe(const json_t *r, struct buf *out)
{
	const json_t *pos = json_object_get(r, "position"), *loc = json_object_get(r, "location");
	const json_t *hits = json_object_get(pos, "hits"), *func = json_object_get(loc, "function");
	const json_t *file = json_object_get(loc, "file"), *text = json_object_get(loc, "text"), *note;
	size_t i;

	buf_addf(out, "%s: %s before, %s after\nat %lld/%s", json_string_value(json_object_get(r, "expr")),
		 json_string_value(json_object_get(r, "before")), json_string_value(json_object_get(r, "after")),
		 json_integer_value(json_object_get(pos, "event")), json_string_value(json_object_get(pos, "pc")));
	if (json_is_integer(hits))
		buf_addf(out, "#%lld", json_integer_value(hits));
	if (json_is_string(func))
		buf_addf(out, ", in %s", json_string_value(func));
	if (json_is_string(file))
		buf_addf(out, " (%s:%lld)", json_string_value(file), json_integer_value(json_object_get(loc, "line")));
	if (json_is_string(text)) {
		const char *s = json_string_value(text);

		buf_addf(out, ": %s", s + strspn(s, " \t"));
	}
	buf_add_char(out, '\n');
	json_array_foreach(json_object_get(r, "notes"), i, note)
		buf_addf(out, "(%s)\n", json_string_value(note));
	if (json_is_true(json_object_get(r, "may_be_later")))
		buf_addf(out, "(there may be later ones: --last looks for them)\n");
}

/* Before the instruction, or before the call in which it was made. */
static int go_there(struct debug *d, const json_t *result, struct buf *out, struct err *e)
{
	const json_t *pos = json_object_get(result, "position"), *hits = json_object_get(pos, "hits");
	uint64_t n = (uint64_t)json_integer_value(json_object_get(pos, "event")), pc;

	if (str_u64(json_string_value(json_object_get(pos, "pc")), 0, 1, UINT64_MAX, &pc))
		return err_set(e, ERR_INTERNAL, "a transition without a place");
	if (json_is_integer(hits))
		return cursor_goto_seen(&d->cursor, &(struct timeline_point){n, pc, (uint64_t)json_integer_value(hits)}, e);
	if (json_is_true(json_object_get(result, "at_end")))
		return cursor_goto_end(&d->cursor, n, e);
	buf_addf(out, "(which time it is there is not known: this is the first one behind event %llu)\n",
		 (unsigned long long)n);
	return cursor_goto_seen(&d->cursor, &(struct timeline_point){n, pc, 1}, e);
}

/* The user's first checkpoint, if it is before event n: what they looked at begins there. */
static void good_by_default(const struct debug *d, uint64_t n, char *buf, size_t size, struct watch_params *p)
{
	if (p->good || !d->state.checkpoints.n || d->state.checkpoints.v[0].at.event >= n)
		return;
	snprintf(buf, size, "%llu", (unsigned long long)d->state.checkpoints.v[0].at.event);
	p->good = buf;
}

int debug_reverse_watch(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	cleanup_free char *text = xstrdup(args);
	struct watch_params p = {.exact = true, .suggest = true, .inside = true};
	struct timeline_point here;
	json_auto_t *result = NULL;
	char bad[80], good[24];
	struct err why;

	debug_end_diversion(d);
	if (parse(text, &p, e) || cursor_where(&d->cursor, &here, e) || cursor_leave(&d->cursor, e))
		return -1;
	target_kill(&d->nav.t);
	good_by_default(d, here.event, good, sizeof(good), &p);
	snprintf(bad, sizeof(bad), "%llu/0x%llx#%llu", (unsigned long long)here.event,
		 (unsigned long long)here.pc, (unsigned long long)here.hits);
	if (!p.bad)
		p.bad = bad;
	d->jumped = true;
	if (!search(d, &p, &result, e)) {
		describe(result, out);
		if (!go_there(d, result, out, e))
			return 0;
	}
	if (e->kind != ERR_CANCELLED && cursor_goto_point(&d->cursor, &here, &why))
		log_warn("the session does not come back to %s: %s", bad, why.text);
	return -1;
}
