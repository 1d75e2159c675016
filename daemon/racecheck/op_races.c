/* SPDX-License-Identifier: MIT */
/* op_races.c: the operation: from the beginning of a process to its end, and the object of fredctl check races. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "instrument/summary.h"
#include "racecheck/ops.h"
#include "racecheck/racecheck.h"
#include "racecheck/values.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "replay/whole.h"

struct check {
	struct rec *rec;
	uint32_t process;
	struct op_ctx *ctx;
	struct nav nav;
	bool have_nav;
	struct racecheck r;
	struct moment_describer moments;
	uint64_t reached; /* the event up to which it was checked */
	char *diverged; /* why the replay got no further; NULL: it reached the end */
};

#define U(x) ((unsigned long long)(x))

/* ---- words ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *what(const struct race_end *x)
{
	if (x->kind == RACE_FREE)
		return "free";
	return x->writes ? "write" : "read";
}

static char *place_words(const struct race *f)
{
	const struct heap_piece *b = &f->block;

	switch (f->place) {
	case RACE_STATIC:
		return xstrdup(f->name.text);
	case RACE_HEAP:
		if (b->state == BLOCK_NONE)
			return str_fmt("0x%llx, in the heap", U(f->addr));
		return str_fmt("byte %llu of a block of %llu byte%s", U(f->addr - b->at), U(b->len), plural(b->len));
	case RACE_STACK:
		return f->name.text ? str_fmt("%s, on the stack of thread %u", f->name.text, f->owner)
				    : str_fmt("0x%llx, on the stack of thread %u", U(f->addr), f->owner);
	default:
		return str_fmt("0x%llx", U(f->addr));
	}
}

static char *words_of(const struct race *f)
{
	char *place = place_words(f), *out;

	out = str_fmt("%s and %s of %llu byte%s race: %s", what(&f->earlier), what(&f->later), U(f->len),
		      plural(f->len), place);
	free(place);
	return out;
}

/* ---- JSON ---- */

static json_t *end_json(struct check *c, const struct race_end *x)
{
	json_t *o = moment_json(&c->moments, &x->at);

	json_object_set_new(o, "access", json_string(what(x)));
	json_object_set_new(o, "write", json_boolean(x->writes));
	json_object_set_new(o, "bytes", json_integer((json_int_t)x->len));
	return o;
}

static json_t *block_json(struct check *c, const struct race *f)
{
	const struct heap_piece *b = &f->block;

	if (f->place != RACE_HEAP || b->state == BLOCK_NONE)
		return json_null();
	return json_pack("{s:o, s:I, s:I, s:o}", "address", json_sprintf("0x%llx", U(b->at)), "bytes",
			 (json_int_t)b->len, "offset", (json_int_t)(f->addr - b->at), "allocated",
			 b->made.thread ? moment_json(&c->moments, &b->made) : json_null());
}

static json_t *variable_json(const struct race *f)
{
	if (!f->name.text)
		return json_null();
	return json_pack("{s:s, s:s?, s:o}", "name", f->name.text, "type", f->name.type, "thread",
			 f->place == RACE_STACK ? json_integer(f->owner) : json_null());
}

static json_t *changes_json(const struct race *f)
{
	if (f->changes != RACE_CHANGES && f->changes != RACE_CHANGES_NOT)
		return json_null();
	return json_boolean(f->changes == RACE_CHANGES);
}

static json_t *finding_json(struct check *c, const struct race *f)
{
	char *words = words_of(f);
	json_t *o = json_pack("{s:s, s:s, s:I, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "kind", "race", "words", words,
			      "count", (json_int_t)f->count, "address", json_sprintf("0x%llx", U(f->addr)), "bytes",
			      (json_int_t)f->len, "certain", !f->guessed, "variable", variable_json(f), "block",
			      block_json(c, f), "changes", changes_json(f), "earlier", end_json(c, &f->earlier),
			      "later", end_json(c, &f->later));

	free(words);
	return o;
}

static bool is_whole(const struct check *c)
{
	return !c->r.i.report.unseen && !c->r.i.report.lost && !c->diverged && !c->r.dropped;
}

static void note_counts(struct check *c, json_t *r)
{
	if (c->diverged) {
		char *text = str_fmt("checked up to event %llu of %llu only: %s", U(c->reached), U(nav_total(&c->nav)),
				     c->diverged);
		show_note(r, text);
		free(text);
	}
	if (c->r.dropped)
		show_note(r, "there are more races than are listed");
}

static json_t *result_of(struct check *c, double since)
{
	const struct racecheck *m = &c->r;
	json_t *list = json_array(), *r;

	for (size_t k = 0; k < m->n; k++)
		json_array_append_new(list, finding_json(c, &m->v[k]));
	r = json_pack("{s:b, s:o}", "clean", !m->n && is_whole(c), "findings", list);
	show_process(r, c->rec, c->process);
	json_object_set_new(summary_add(r, &m->i, &c->nav, &c->moments, "races", since), "checked",
			    json_integer((json_int_t)c->reached));
	note_counts(c, r);
	return r;
}

/* ---- the way ---- */

/* A replay of a program with races may diverge: what was found up to there is valid. */
static int diverged(struct check *c, struct err *e)
{
	if (e->kind != ERR_INTERNAL || !c->r.i.event)
		return -1;
	c->diverged = xstrdup(e->text);
	c->reached = c->r.i.event;
	return 0;
}

/* The last event of all findings: the process has been there. */
static uint64_t last_event(const struct check *c)
{
	uint64_t last = 0;

	for (size_t k = 0; k < c->r.n; k++)
		if (c->r.v[k].later.at.event > last)
			last = c->r.v[k].later.at.event;
	return last;
}

static int look(struct check *c, struct err *e)
{
	struct timeline_point start;
	struct err ignored;
	uint64_t total = nav_total(&c->nav);

	racecheck_init(&c->r, c->rec, c->nav.t.tl);
	c->r.i.progress = "looking for races";
	c->reached = total;
	if (nav_resolve(&c->nav, "start", &start, e) || nav_goto(&c->nav, start.event, e))
		return -1;
	if (racecheck_run(&c->r, &c->nav, start.event, total, e) && diverged(c, e))
		return -1;
	if (!c->r.n)
		return 0;
	/* if this fails, it is not known what the other order would have changed */
	values_compare(&c->r, &c->nav, &ignored);
	if (nav_goto(&c->nav, c->diverged ? last_event(c) : total, e))
		return -1;
	return moment_describer_open(&c->moments, c->rec, &c->nav, &c->r.stacks, &c->r.i.code, e);
}

int op_check_races(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct check c = {.ctx = ctx};
	double since = clock_s();
	int r = -1;

	if (pick_rec(params, &c.rec, e))
		return -1;
	c.process = pick_process(params, c.rec, e);
	if (c.process && !nav_init_whole(&c.nav, c.rec, c.process, c.ctx, e)) {
		c.have_nav = true;
		r = look(&c, e);
	}
	if (!r)
		*result = result_of(&c, since);
	moment_describer_fini(&c.moments);
	racecheck_fini(&c.r);
	if (c.have_nav)
		nav_fini(&c.nav);
	free(c.diverged);
	rec_free(c.rec);
	return r;
}
