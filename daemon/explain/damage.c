/* SPDX-License-Identifier: MIT */
/*
 * damage.c: see damage.h. A damaged block is never given out again, so the canary is as the program left it until the
 * end. From there the replay goes back from write to write of the canary, until the canary was whole before a write:
 * that write damaged it.
 */
#define LOG_DOMAIN "explain"
#include "explain/damage.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "describe/damage.h"
#include "explain/failure.h"
#include "flow/flow_int.h"
#include "replay/show.h"
#include "rlog/heap.h"
#include "timetravel/cursor_int.h"

#define WRITES 200 /* to one place, at most: of a loop that writes there again and again */

bool damage_any(const struct explain *x)
{
	const struct rlog_control *c = &x->rec->control;
	struct rlog_damage d;
	uint32_t process;

	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++)
		if (damage_note(c, i, &d, &process) && process == x->process)
			return true;
	return false;
}

uint32_t damage_process(const struct rec *rec)
{
	const struct rlog_control *c = &rec->control;
	struct rlog_damage d;
	uint32_t process;

	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++)
		if (damage_note(c, i, &d, &process))
			return process;
	return 0;
}

/* Was the canary, or the header, as malloc had made it, where the program stands? */
static bool is_whole(struct explain *x, const struct rlog_damage *d)
{
	struct heap_block b;
	struct err ignored;
	uint8_t byte;

	if (d->kind != RLOG_DAMAGE_BEFORE)
		return !trace_read(cursor_memory(&x->t), d->at, &byte, 1, &ignored) && byte == d->expected;
	return !trace_read(cursor_memory(&x->t), d->header, &b, sizeof(b), &ignored) &&
	       (b.magic == HEAP_USED || b.magic == HEAP_FREE || b.magic == HEAP_ALIGNED) &&
	       heap_is_whole(&b, d->header, b.size);
}

/* Back to the write before which it was whole. As flow_last_write. */
static int to_write(struct explain *x, const struct rlog_damage *d, struct err *e)
{
	bool is_birth;
	int r;

	for (unsigned i = 0; i < WRITES; i++) {
		if (d->kind == RLOG_DAMAGE_BEFORE)
			r = flow_last_write(x, d->header, 8, d->header + 8, &is_birth, e);
		else
			r = flow_last_write(x, d->at, 1, 0, &is_birth, e);
		if (r)
			return r;
		if (is_whole(x, d))
			return 0;
		if (explain_is_over(x))
			return 2;
	}
	explain_end(x, END_LIMIT, "it was written to more than %d times", WRITES);
	return 2;
}

static void tell_write(struct explain *x, const struct rlog_damage *d, struct inspect *p)
{
	unsigned long long size = d->size, memory = d->memory;
	long long byte = (long long)(d->at - d->memory);
	cleanup_free char *before = str_fmt("0x%02x", (unsigned)d->expected), *name = NULL, *after = NULL;

	if (d->kind == RLOG_DAMAGE_BEFORE) {
		inspect_step(p, STEP_WRITE, NULL, NULL, NULL,
			     "this wrote in front of the block at 0x%llx, over malloc's header", memory);
		return;
	}
	name = str_fmt("*(unsigned char *)0x%llx", (unsigned long long)d->at);
	if (d->kind == RLOG_DAMAGE_AFTER)
		inspect_step(p, STEP_WRITE, name, before, after,
			     "this wrote past the end of the block of %llu bytes at 0x%llx: to byte %lld", size, memory,
			     byte);
	else
		inspect_step(p, STEP_WRITE, name, before, after,
			     "this wrote to the block of %llu bytes at 0x%llx after it was freed: to byte %lld", size,
			     memory, byte);
}

/* From the end of the process to the write, and to the block's life. The chain is empty before. */
static int follow(struct explain *x, const struct rlog_damage *d, struct err *e)
{
	struct inspect p = {0};
	int r;

	if (explain_goto_failure(x, e))
		return -1;
	r = failure_tell(x, &p, e);
	inspect_close(&p);
	if (r)
		return -1;
	r = to_write(x, d, e);
	if (r < 0)
		return -1;
	if (r) {
		explain_end(x, END_NEVER_WRITTEN, "no write to it was found");
		return 0;
	}
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	tell_write(x, d, &p);
	inspect_close(&p);
	explain_end(x, END_COMPUTED, "this statement wrote outside of the memory that was the program's");
	x->found = true;
	if (d->kind == RLOG_DAMAGE_FREED)
		r = failure_tell_block(x, d->header, STEP_FREE, "freed", "", e);
	return r ? r : failure_tell_block(x, d->header, STEP_ALLOC, "allocated", "", e);
}

/* The steps from `first` on of that role, as an object; NULL: there is none. New reference. */
static json_t *step_of(struct explain *x, enum step_role role)
{
	for (size_t i = 1; i < x->chain.n; i++)
		if (x->chain.v[i].role == role) {
			json_t *o = chain_step_json(&x->chain.v[i], x->process, nav_total(&x->nav));

			show_sources(o, x->rec);
			json_object_del(o, "notes");
			return o;
		}
	return NULL;
}

static void set_step(struct explain *x, json_t *o, const char *key, enum step_role role)
{
	json_t *step = step_of(x, role);

	json_object_set_new(o, key, step ? step : json_null());
}

static json_t *result_of(struct explain *x, const struct rlog_damage *d)
{
	json_t *o = damage_json(d, x->process);

	set_step(x, o, "cause", STEP_WRITE);
	set_step(x, o, "freed", STEP_FREE);
	set_step(x, o, "allocated", STEP_ALLOC);
	json_object_set_new(o, "end", json_pack("{s:s, s:s}", "kind", chain_end_name(x->end), "text", x->end_text));
	return o;
}

/* What explain knows of one failure. */
struct known {
	struct chain_failure failure;
	struct chain chain;
	struct timeline_point at;
	enum chain_end end;
	char *end_text;
	bool found, no_code;
};

static struct known take(struct explain *x)
{
	struct known k = {x->failure, x->chain, x->at, x->end, x->end_text, x->found, x->no_code};

	x->failure = (struct chain_failure){.code = -1};
	x->chain = (struct chain){0};
	x->at = (struct timeline_point){0};
	x->end = END_OPEN;
	x->end_text = NULL;
	x->found = x->no_code = false;
	return k;
}

static void give(struct explain *x, struct known *k)
{
	chain_failure_fini(&x->failure);
	chain_fini(&x->chain);
	free(x->end_text);
	x->failure = k->failure;
	x->chain = k->chain;
	x->at = k->at;
	x->end = k->end;
	x->end_text = k->end_text;
	x->found = k->found;
	x->no_code = k->no_code;
}

/* keep: x goes on with what is found here. */
static int one(struct explain *x, const struct rlog_damage *d, bool keep, json_t *list, struct err *e)
{
	cleanup_free char *text = damage_text(d);
	struct known before = take(x), own;
	int r;

	failure_set_kind(x, "heap-damage", "%s", text);
	r = follow(x, d, e);
	if (r < 0 && explain_may_go_on(x, e)) {
		explain_end(x, END_UNKNOWN, "%s", e->text);
		r = 0;
	}
	explain_end(x, END_UNKNOWN, "nothing more is known");
	if (r >= 0)
		json_array_append_new(list, result_of(x, d));
	explain_cut(x, x->found ? 2 : 1);
	if (keep) {
		own = take(x);
		give(x, &before);
		before = own;
	}
	give(x, &before);
	return r < 0 ? -1 : 0;
}

int damage_explain(struct explain *x, json_t *list, struct err *e)
{
	const struct rlog_control *c = &x->rec->control;
	bool nothing_failed = str_eq(x->failure.kind, "none");
	struct rlog_damage d;
	uint32_t process;

	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++) {
		if (!damage_note(c, i, &d, &process) || process != x->process)
			continue;
		if (one(x, &d, nothing_failed && !json_array_size(list), list, e))
			return -1;
	}
	return 0;
}
