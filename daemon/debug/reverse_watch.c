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
#include "watch/watch.h"

static void show(void *arg, double fraction, const char *text)
{
	busy_show(arg, fraction, text ? text : "searching");
}

static int search(struct debug *d, const struct watch_params *p, struct watch_result *result, struct err *e)
{
	struct op_ctx ctx = {.fd = -1, .show = show, .cancelled = busy_is_over, .arg = d};
	cleanup_gdb struct gdb *g = gdb_new(&gdb_with_scripts, e);
	int r;

	if (!g)
		return -1;
	r = watch_process(d->rec, d->nav.t.process, p, g, &ctx, result, e);
	if (r == WATCH_NO_SYMBOL)
		err_wrap(e, "%s", p->expr);
	if (!r)
		watch_result_use_sources(result, d->rec);
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
			return err_set(e, ERR_USAGE, "reverse-watch --nth N: N is a number from 1");
	}
	p->expr = args;
	return *args ? 0
		     : err_set(e, ERR_USAGE,
			       "reverse-watch [--good POS] [--bad POS] [--last|--first|--nth N] [--insn] EXPR: which "
			       "expression?");
}

static void describe(const struct watch_result *r, struct buf *out)
{
	const struct location *l = &r->stack.location;

	buf_addf(out, "%s: %s before, %s after\nat %llu/0x%llx", r->expr, r->before, r->after,
		 (unsigned long long)r->at.event, (unsigned long long)r->at.pc);
	if (r->at.hits)
		buf_addf(out, "#%llu", (unsigned long long)r->at.hits);
	if (l->function)
		buf_addf(out, ", in %s", l->function);
	if (l->file)
		buf_addf(out, " (%s:%d)", l->file, l->line);
	if (l->text)
		buf_addf(out, ": %s", l->text);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < r->notes.n; i++)
		buf_addf(out, "(%s)\n", r->notes.s[i]);
	if (r->may_be_later && r->bad_at_events)
		buf_addf(out, "(it is bad at each later event; between two events it may be good for a moment)\n");
	else if (r->may_be_later)
		buf_addf(out, "(there may be later ones: --last looks for them)\n");
}

/* Goes to the state before the instruction, or before the call in which the transition was made. */
static int go_there(struct debug *d, const struct watch_result *r, struct buf *out, struct err *e)
{
	if (!r->at.pc)
		return err_set(e, ERR_INTERNAL, "a transition without a position");
	if (r->at.hits)
		return cursor_goto_seen(&d->cursor, &r->at, e);
	if (r->at_end)
		return cursor_goto_end(&d->cursor, r->at.event, e);
	buf_addf(out, "(it is not known which pass of this address it is: this is the first one after event %llu)\n",
		 (unsigned long long)r->at.event);
	return cursor_goto_seen(&d->cursor, &(struct timeline_point){r->at.event, r->at.pc, 1}, e);
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
	struct watch_result result = {0};
	char bad[80], good[24];
	struct err why;
	int r;

	debug_end_diversion(d);
	if (parse(text, &p, e) || cursor_where(&d->cursor, &here, e) || cursor_leave(&d->cursor, e))
		return -1;
	target_kill(&d->nav.t);
	good_by_default(d, here.event, good, sizeof(good), &p);
	snprintf(bad, sizeof(bad), "%llu/0x%llx#%llu", (unsigned long long)here.event, (unsigned long long)here.pc,
		 (unsigned long long)here.hits);
	if (!p.bad)
		p.bad = bad;
	d->jumped = true;
	r = search(d, &p, &result, e);
	if (!r) {
		describe(&result, out);
		r = go_there(d, &result, out, e);
	}
	watch_result_fini(&result);
	if (!r)
		return 0;
	if (e->kind != ERR_CANCELLED && cursor_goto_point(&d->cursor, &here, &why))
		log_warn("the session could not return to %s: %s", bad, why.text);
	return -1;
}
