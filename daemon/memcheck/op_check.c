/* SPDX-License-Identifier: MIT */
/* op_check.c: the operation: from the beginning of a process to its end, and the object of fredctl check memory. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "instrument/summary.h"
#include "memcheck/memcheck.h"
#include "memcheck/ops.h"
#include "memcheck/suppressing.h"
#include "reclog/procs.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "replay/whole.h"

struct check {
	struct rec *rec;
	uint32_t process;
	struct op_ctx *ctx;
	struct nav nav;
	bool have_nav;
	struct memcheck m;
	struct moment_describer moments;
	struct suppressions suppressions;
	bool writes_suppressions;
};

static const char *const kinds[FINDING_KINDS] = {
	[FINDING_OUTSIDE] = "outside",		[FINDING_FREED] = "use-after-free",
	[FINDING_DOUBLE_FREE] = "double-free",	[FINDING_INVALID_FREE] = "invalid-free",
	[FINDING_MISMATCH] = "mismatched-free", [FINDING_OVERLAP] = "overlap",
	[FINDING_UNWRITTEN] = "uninitialised",	[FINDING_LEAK] = "leak",
};

/* ---- words ---- */

#define U(x) ((unsigned long long)(x))

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static char *outside_words(const struct memory_finding *f, const char *what)
{
	const struct heap_piece *b = &f->block;
	uint64_t end = b->at + b->len;

	if (b->state == BLOCK_NONE)
		return str_fmt("%s at 0x%llx, in the heap, near no block", what, U(f->addr));
	if (f->addr < b->at)
		return str_fmt("%s, %llu byte%s before a block of %llu byte%s", what, U(b->at - f->addr),
			       plural(b->at - f->addr), U(b->len), plural(b->len));
	if (f->addr < end)
		return str_fmt("%s that reaches %llu byte%s beyond the end of a block of %llu byte%s", what,
			       U(f->addr + f->len - end), plural(f->addr + f->len - end), U(b->len), plural(b->len));
	if (f->addr == end)
		return str_fmt("%s right after a block of %llu byte%s", what, U(b->len), plural(b->len));
	return str_fmt("%s, %llu byte%s after a block of %llu byte%s", what, U(f->addr - end), plural(f->addr - end),
		       U(b->len), plural(b->len));
}

static char *freed_words(const struct memory_finding *f, const char *what)
{
	const struct heap_piece *b = &f->block;

	if (b->state != BLOCK_FREED)
		return str_fmt("%s at 0x%llx, in memory that was freed", what, U(f->addr));
	return str_fmt("%s at byte %llu of a block of %llu byte%s that was freed", what, U(f->addr - b->at), U(b->len),
		       plural(b->len));
}

static char *free_words(const struct memory_finding *f)
{
	const struct heap_piece *b = &f->block;

	if (f->kind == FINDING_MISMATCH)
		return str_fmt("%s of a block of %llu byte%s that was allocated by %s",
			       families_freer((enum family)f->family), U(b->len), plural(b->len),
			       families_maker((enum family)b->family));
	if (f->kind == FINDING_DOUBLE_FREE)
		return str_fmt("free of a block of %llu byte%s that was freed before", U(b->len), plural(b->len));
	if (b->state != BLOCK_NONE && f->addr > b->at && f->addr < b->at + b->len)
		return str_fmt("free of 0x%llx, which is byte %llu of a block of %llu byte%s", U(f->addr),
			       U(f->addr - b->at), U(b->len), plural(b->len));
	return str_fmt("free of 0x%llx, where no block begins", U(f->addr));
}

static char *unwritten_words(const struct memory_finding *f)
{
	static const char *const uses[] = {[UNWRITTEN_BRANCH] = "a branch depends on",
					   [UNWRITTEN_ADDRESS] = "an address depends on",
					   [UNWRITTEN_OUTPUT] = " is given"};

	return str_fmt("%s%s bytes of %s that were never written", f->by ? f->by : "", uses[f->use],
		       f->origin.heap ? "a block" : "a stack frame");
}

static char *words_of(const struct memory_finding *f)
{
	char *what, *out;

	if (f->kind == FINDING_UNWRITTEN)
		return unwritten_words(f);

	if (f->kind == FINDING_LEAK)
		return str_fmt("%llu byte%s in %llu block%s, which the program cannot reach at the end", U(f->len),
			       plural(f->len), U(f->count), plural(f->count));
	if (f->kind == FINDING_OVERLAP)
		return str_fmt("%s of %llu byte%s from 0x%llx to 0x%llx, which overlap", f->by, U(f->len),
			       plural(f->len), U(f->from), U(f->addr));
	if (f->kind == FINDING_DOUBLE_FREE || f->kind == FINDING_INVALID_FREE || f->kind == FINDING_MISMATCH)
		return free_words(f);
	what = str_fmt("%s of %llu byte%s%s%s", f->writes ? "write" : "read", U(f->len), plural(f->len),
		       f->by ? " by " : "", f->by ? f->by : "");
	out = f->kind == FINDING_FREED ? freed_words(f, what) : outside_words(f, what);
	free(what);
	return out;
}

/* ---- JSON ---- */

static json_t *known_moment_json(struct check *c, const struct moment *d)
{
	return d->thread ? moment_json(&c->moments, d) : json_null();
}

static json_t *block_json(struct check *c, const struct heap_piece *b)
{
	if (b->state == BLOCK_NONE)
		return json_null();
	return json_pack("{s:o, s:I, s:o, s:o}", "address", json_sprintf("0x%llx", U(b->at)), "bytes",
			 (json_int_t)b->len, "allocated", known_moment_json(c, &b->made), "freed",
			 b->state == BLOCK_FREED ? known_moment_json(c, &b->freed) : json_null());
}

static json_t *origin_json(struct check *c, const struct follow_origin *from)
{
	json_t *o = known_moment_json(c, &from->at);

	if (json_is_object(o))
		json_object_set_new(o, "memory", json_string(from->heap ? "heap" : "stack"));
	return o;
}

static json_t *finding_json(struct check *c, const struct memory_finding *f)
{
	json_t *o = moment_json(&c->moments, &f->at);
	char *words = words_of(f);

	json_object_set_new(o, "kind", json_string(kinds[f->kind]));
	json_object_set_new(o, "words", json_string(words));
	json_object_set_new(o, "count", json_integer((json_int_t)f->count));
	json_object_set_new(o, "address",
			    f->kind == FINDING_UNWRITTEN && !f->addr ? json_null()
								     : json_sprintf("0x%llx", U(f->addr)));
	json_object_set_new(o, "bytes", json_integer((json_int_t)f->len));
	json_object_set_new(o, "write", json_boolean(f->writes));
	json_object_set_new(o, "block", block_json(c, &f->block));
	if (f->kind == FINDING_UNWRITTEN)
		json_object_set_new(o, "origin", origin_json(c, &f->origin));
	free(words);
	return o;
}

static void note_counts(struct check *c, json_t *r)
{
	if (c->nav.t.ctl->report_kinds <= REPORT_LOADED)
		show_note(r, "this recording was made by an older recorder: what libc's functions for strings read is "
			     "checked "
			     "in part only");
	if (c->m.dropped)
		show_note(r, "there are more errors than are listed");
	if (!c->m.blocks.chunks)
		show_note(r, "the program has no block of malloc's: what an allocator of its own gives out is not "
			     "examined");
	if (!c->m.leaks_known)
		show_note(r, "leaks were not searched for: the process did not exit");
}

static json_t *result_of(struct check *c, double since)
{
	const struct memcheck *m = &c->m;
	json_t *list = json_array(), *r, *stats;

	for (size_t k = 0; k < m->n; k++) {
		json_t *o = finding_json(c, &m->v[k]);

		if (suppressing_sees(&c->suppressions, &m->v[k], o, c->writes_suppressions))
			json_decref(o);
		else
			json_array_append_new(list, o);
	}
	r = json_pack("{s:b, s:o}", "clean",
		      !json_array_size(list) && !m->i.report.unseen && !m->i.report.lost && !m->dropped, "findings",
		      list);
	json_object_set_new(r, "suppressed", suppressing_json(&c->suppressions));
	json_object_set_new(
		r, "reachable",
		json_pack("{s:I, s:I}", "bytes", (json_int_t)m->reachable, "blocks", (json_int_t)m->reachable_blocks));
	show_process(r, c->rec, c->process);
	stats = summary_add(r, &m->i, &c->nav, &c->moments, "errors", since);
	json_object_set_new(stats, "unchecked", json_integer((json_int_t)m->unchecked));
	json_object_set_new(stats, "reused", json_integer((json_int_t)m->blocks.reused));
	note_counts(c, r);
	return r;
}

/* ---- the way ---- */

/* Only what exited by itself could have freed its blocks. */
static bool has_exited(const struct check *c, struct err *e)
{
	const struct rec_image *img = rec_image(c->rec, c->process, e);
	struct procs_ending end = procs_ending(c->rec, img);

	return end.how == PROCS_EXITED || end.how == PROCS_FAILED;
}

static int can_follow(const struct check *c, struct err *e)
{
	if (!c->m.follows || c->nav.t.ctl->report_kinds > REPORT_WRITTEN)
		return 0;
	return err_set(e, ERR_USAGE,
		       "check memory --uninitialised: this recording was made by an older recorder, or with --malloc "
		       "system: what its instructions do cannot be examined; record again");
}

static int run(struct check *c, struct err *e)
{
	struct timeline_point start;
	uint64_t total;

	if (nav_init_whole(&c->nav, c->rec, c->process, c->ctx, e))
		return -1;
	c->have_nav = true;
	total = nav_total(&c->nav);
	if (nav_resolve(&c->nav, "start", &start, e) || nav_goto(&c->nav, start.event, e) || can_follow(c, e) ||
	    memcheck_run(&c->m, &c->nav, start.event, total, e))
		return -1;
	if (c->m.first && !c->m.n)
		return 0;
	if (nav_goto(&c->nav, total, e))
		return -1;
	if (!c->m.first && has_exited(c, e) && memcheck_leaks(&c->m, &c->nav.t, e))
		return -1;
	if (!c->m.n)
		return 0;
	return moment_describer_open(&c->moments, c->rec, &c->nav, &c->m.stacks, &c->m.i.code, e);
}

static void check_fini(struct check *c)
{
	moment_describer_fini(&c->moments);
	suppressions_fini(&c->suppressions);
	memcheck_fini(&c->m);
	if (c->have_nav)
		nav_fini(&c->nav);
}

int memcheck_first_error(struct rec *rec, uint32_t process, struct op_ctx *ctx, uint64_t most, json_t **finding,
			 struct err *e)
{
	struct check c = {.rec = rec, .process = process, .ctx = ctx};
	int r;

	*finding = NULL;
	memcheck_init(&c.m, false);
	c.m.first = true;
	c.m.i.report.most = most;
	r = run(&c, e);
	for (size_t k = 0; !r && k < c.m.n && !*finding; k++)
		if (memcheck_is_error(&c.m.v[k]))
			*finding = finding_json(&c, &c.m.v[k]);
	check_fini(&c);
	return r;
}

int op_check_memory(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct check c = {.ctx = ctx};
	double since = clock_s();
	const char *text;
	int r = -1;

	if (pick_rec(params, &c.rec, e))
		return -1;
	memcheck_init(&c.m, json_is_true(json_object_get(params, "uninitialised")));
	c.m.i.progress = "checking memory";
	c.writes_suppressions = json_is_true(json_object_get(params, "gen_suppressions"));
	text = json_string_value(json_object_get(params, "suppressions"));
	if (!text || !suppressions_parse(&c.suppressions, text, e))
		c.process = pick_process(params, c.rec, e);
	if (c.process)
		r = run(&c, e);
	if (!r)
		*result = result_of(&c, since);
	check_fini(&c);
	rec_free(c.rec);
	return r;
}
