/* SPDX-License-Identifier: MIT */
/* settle.c: what is done when a child of the hunt has ended: a run, the verdict about one, or a search. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "hunt/good.h"
#include "hunt/groups.h"
#include "hunt/hunt_int.h"
#include "hunt/verdict.h"

#define LOST_MOST 5u /* how many runs in a row may lose their process */
#define VALUES_MOST 3u /* runs after which it is a mistake when an invariant never had a value */
#define SAME_MOST                                                                                                      \
	8u /* failures with the same signs that are searched; if they all have one cause, it is that of the others too \
	    */

char *settle_block(const struct hunt *h, uint64_t local)
{
	return str_fmt("b%010llu", (unsigned long long)(local / h->block));
}

static void job_over(struct hunt *h, struct job *j)
{
	if (j->kind != JOB_CAUSE)
		run_fini(&j->run);
	*j = (struct job){.run = {.out = -1}};
	h->busy--;
}

static void remove_run(const struct hunt_run *r)
{
	struct err ignored;

	rm_rf(r->dir, &ignored);
}

/* Adds a line to the journal. Only what is in the journal has happened. */
static int write_down(struct hunt *h, const json_t *line, bool sync)
{
	struct err e;

	if (journal_add(&h->state.journal, line, sync, &e)) {
		hunt_fail(h, &e);
		return -1;
	}
	ledger_add(&h->ledger, line);
	return 0;
}

static json_t *run_line(const struct hunt_run *r)
{
	return json_pack("{s:s, s:I, s:s, s:I, s:f}", "t", "run", "n", (json_int_t)r->n, "sched",
			 hunt_class_name(r->sched), "seed", (json_int_t)r->seed, "s", r->outcome->seconds);
}

/* Releases the claim to a block of runs if all of them are done. */
static void release_block(struct hunt *h, uint64_t local)
{
	uint64_t first = local / h->block * h->block;
	cleanup_free char *name = NULL;

	for (uint64_t i = first; i < first + h->block && i < h->limit; i++)
		if (!ledger_is_done(&h->ledger, i))
			return;
	name = settle_block(h, local);
	state_release(&h->state, name);
}

static void passed(struct hunt *h, const struct hunt_run *r, bool skip)
{
	json_auto_t *line = run_line(r);

	if (skip)
		json_object_set_new(line, "skip", json_true());
	if (!skip && r->outcome->recorded && good_is_wanted(&h->state, r->sched))
		good_keep(&h->state, r);
	else
		remove_run(r);
	if (!write_down(h, line, false))
		release_block(h, r->local);
}

/* Is the failure worth a message? After some that look the same it is not. */
static bool is_news(const struct hunt *h, const json_t *fail)
{
	cleanup_free char *signs = groups_signs(fail);
	unsigned same = 0;

	for (size_t i = 0; i < h->ledger.nfailures; i++) {
		cleanup_free char *others = groups_signs(h->ledger.failures[i].fail);

		same += str_eq(signs, others);
	}
	return same <= SAME_MOST;
}

/* Notes a failure. Its folder is renamed before the line is written: so a folder that the journal names exists. */
static void failed(struct hunt *h, const struct hunt_run *r, json_t *fail)
{
	json_auto_t *line = run_line(r);
	cleanup_free char *name = str_fmt("r%010llu", (unsigned long long)r->n),
			  *to = state_path(&h->state, "failures", name);
	cleanup_free char *sched = hunt_sched_text(r->sched, r->seed);
	struct err e, ignored;

	if (ledger_is_done(&h->ledger, r->local)) { /* another task took this one for dead, and has done the run */
		remove_run(r);
		return;
	}
	rm_rf(to, &ignored); /* left by a task that died between the rename and the line in the journal */
	if (rename(r->dir, to)) {
		err_errno(&e, ERR_HOST, "%s", to);
		hunt_fail(h, &e);
		return;
	}
	json_object_set(line, "fail", fail);
	json_object_set_new(line, "at", json_string(name));
	if (write_down(h, line, true))
		return;
	release_block(h, r->local);
	if (is_news(h, fail))
		hunt_note(h, "run %llu (%s) failed: %s", (unsigned long long)r->n, sched,
			  json_string_value(json_object_get(fail, "text")));
	if (h->spec->until_failure)
		hunt_stop(h, HUNT_FAILURE, false);
}

static void again(struct hunt *h, const struct hunt_run *r)
{
	h->again = xreallocarray(h->again, h->nagain + 1, sizeof(*h->again));
	h->again[h->nagain++] = r->local;
	remove_run(r);
}

/* The process of a run died (perhaps memory was short), or fred could not do its work. */
static void lost(struct hunt *h, const struct hunt_run *r, const struct err *why)
{
	cleanup_free char *sched = hunt_sched_text(r->sched, r->seed);
	struct err e = *why;

	again(h, r);
	err_wrap(&e, "run %llu (%s)", (unsigned long long)r->n, sched);
	if (why->kind == ERR_USAGE || why->kind == ERR_HOST || ++h->lost > LOST_MOST)
		hunt_fail(h, &e);
	else
		hunt_note(h, "%s; it is repeated", e.text);
}

static void disk_full(struct hunt *h, const struct hunt_run *r)
{
	struct err e;

	again(h, r);
	err_set(&e, ERR_HOST, "%s: the disk is full; --resume continues when there is room", h->state.dir);
	hunt_fail(h, &e);
}

static bool start_verdict(struct hunt *h, struct job *j, const json_t *fail)
{
	struct err e;

	j->pid = verdict_start(h->spec, &j->run, fail, &e);
	if (j->pid < 0) {
		hunt_fail(h, &e);
		return false;
	}
	j->kind = JOB_VERDICT;
	return true;
}

/* A run has ended. true: the job continues, with the verdict. */
static bool run_over(struct hunt *h, struct job *j, int status)
{
	const struct hunt_outcome *o = j->run.outcome;
	json_auto_t *fail = NULL;
	struct err e;

	run_read(&j->run);
	j->run.pid = 0;
	if (o->unwanted && str_eq(j->run.ended_for, "disk")) {
		hunt_note(h, "run %llu was ended: its recording takes too much space (--max-disk)",
			  (unsigned long long)j->run.n);
		passed(h, &j->run, true);
		return false;
	}
	if (o->unwanted || h->hurry) {
		remove_run(&j->run);
		return false;
	}
	if (disk_is_full(h)) {
		disk_full(h, &j->run);
		return false;
	}
	if (o->failed || !o->over) {
		if (!o->failed)
			err_set(&e, ERR_INTERNAL, "its recorder ended with status 0x%x", (unsigned)status);
		lost(h, &j->run, o->failed ? &o->error : &e);
		return false;
	}
	if (!verdict_is_needed(h->spec))
		h->lost = 0;
	if (!o->recorded) {
		passed(h, &j->run, false);
		return false;
	}
	fail = run_failure(&j->run);
	if (run_save_output(&j->run, &e)) {
		lost(h, &j->run, &e);
		return false;
	}
	if (verdict_is_needed(h->spec))
		return start_verdict(h, j, fail);
	if (fail)
		failed(h, &j->run, fail);
	else
		passed(h, &j->run, false);
	return false;
}

void settle_check_values(struct hunt *h)
{
	struct err e;

	if (h->has_values || !h->no_value)
		return;
	err_set(&e, ERR_USAGE, "--invariant: it had no value at the end of any run: %s", h->no_value);
	hunt_fail(h, &e);
}

static void look_at_values(struct hunt *h, const json_t *verdict)
{
	const char *unknown = json_string_value(json_object_get(verdict, "unknown"));

	if (!h->spec->invariants.n || json_is_true(json_object_get(verdict, "skip")) ||
	    json_is_true(json_object_get(verdict, "unasked")))
		return;
	h->has_values |= !unknown;
	if (!unknown || h->no_value) {
		h->without_values += unknown != NULL;
	} else {
		h->no_value = xstrdup(unknown);
		h->without_values = 1;
		hunt_note(h, "an invariant has no value at the end of a run: %s", unknown);
	}
	if (h->without_values >= VALUES_MOST)
		settle_check_values(h);
}

static void verdict_over(struct hunt *h, struct job *j, int status)
{
	struct err e;
	json_auto_t *v = NULL;

	if (h->hurry || (h->stopping && WIFSIGNALED(status))) { /* the hunt has ended it */
		remove_run(&j->run);
		return;
	}
	v = verdict_read(j->run.dir, &e);
	if (v) {
		h->lost = 0;
		look_at_values(h, v);
	}
	if (!v)
		lost(h, &j->run, &e);
	else if (json_is_object(json_object_get(v, "fail")))
		failed(h, &j->run, json_object_get(v, "fail"));
	else
		passed(h, &j->run, json_is_true(json_object_get(v, "skip")));
}

/* ---- causes ---- */

static int cause_known(struct hunt *h, uint64_t n, json_t *cause)
{
	json_auto_t *line = json_pack("{s:s, s:I, s:O}", "t", "cause", "n", (json_int_t)n, "cause", cause);

	return write_down(h, line, true);
}

static void cause_over(struct hunt *h, uint64_t n, int status)
{
	cleanup_free char *claim = str_fmt("c%010llu", (unsigned long long)n);
	struct failure *f = ledger_failure(&h->ledger, n);
	json_auto_t *cause = NULL;
	struct err e;

	if (!f || h->hurry)
		return; /* the next start of this hunt searches for it */
	cause = cause_read(f, &e);
	if (!cause)
		cause = json_pack("{s:b, s:b, s:n, s:n, s:[o], s:s}", "replays", 0, "found", 0, "by", "culprit",
				  "errors", json_sprintf("the search died (status 0x%x): %s", (unsigned)status, e.text),
				  "key", "");
	if (cause_known(h, n, cause))
		return;
	state_release(&h->state, claim);
	disk_prune(h, h->spec->keep);
	if (json_is_true(json_object_get(cause, "found"))) {
		cleanup_free char *place = groups_place(json_object_get(cause, "culprit"));

		hunt_note(h, "run %llu: the cause is %s", (unsigned long long)n, place);
	} else {
		const char *why = json_string_value(json_array_get(json_object_get(cause, "errors"), 0));

		hunt_note(h, "run %llu: its cause is not known: %s", (unsigned long long)n,
			  why ? why : "nothing was found");
	}
}

/* The cause of other failures with the same signs, if enough of them were searched and all have the same cause. */
static const json_t *same_as_others(const struct hunt *h, const struct failure *f)
{
	cleanup_free char *signs = groups_signs(f->fail);
	const json_t *cause = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < h->ledger.nfailures; i++) {
		const struct failure *o = &h->ledger.failures[i];
		cleanup_free char *others = groups_signs(o->fail);

		if (!o->cause || o->assumed || !str_eq(signs, others))
			continue;
		if (!json_is_true(json_object_get(o->cause, "found")) ||
		    (cause && !json_equal(json_object_get(cause, "key"), json_object_get(o->cause, "key"))))
			return NULL;
		cause = o->cause;
		n++;
	}
	return n >= SAME_MOST ? cause : NULL;
}

static bool is_searched(const struct hunt *h, uint64_t n)
{
	for (unsigned i = 0; i < h->njobs; i++)
		if (h->jobs[i].kind == JOB_CAUSE && h->jobs[i].n == n)
			return true;
	return false;
}

/*
 * This task has claimed the search for a failure's cause. Another task may have written the cause before that, so the
 * journals are read again. NULL: the cause is known (then the claim is given back, as the recording may be gone), or
 * the hunt fails.
 */
static struct failure *still_unknown(struct hunt *h, uint64_t n, const char *claim)
{
	struct failure *f;
	struct err e;

	if (ledger_read(&h->ledger, &e)) {
		hunt_fail(h, &e);
		return NULL;
	}
	f = ledger_failure(&h->ledger, n);
	if (f && !f->cause)
		return f;
	state_release(&h->state, claim);
	return NULL;
}

struct failure *settle_next_cause(struct hunt *h)
{
	for (size_t i = 0; i < h->ledger.nfailures && !h->hurry && !h->spec->record_only; i++) {
		struct failure *f = &h->ledger.failures[i];
		cleanup_free char *claim = NULL;
		const json_t *others;
		struct err e;
		int r;

		if (f->cause || is_searched(h, f->n))
			continue;
		others = same_as_others(h, f);
		if (others) {
			json_auto_t *cause = json_pack("{s:b, s:b, s:O}", "assumed", 1, "found", 1, "key",
						       json_object_get(others, "key"));

			if (cause_known(h, f->n, cause))
				return NULL;
			disk_prune(h, h->spec->keep);
			continue;
		}
		claim = str_fmt("c%010llu", (unsigned long long)f->n);
		r = state_claim(&h->state, claim, &e);
		if (r < 0)
			hunt_fail(h, &e);
		f = r > 0 ? still_unknown(h, f->n, claim) : NULL;
		if (f)
			return f;
	}
	return NULL;
}

void settle(struct hunt *h, struct job *j, int status)
{
	switch (j->kind) {
	case JOB_RUN:
		if (run_over(h, j, status))
			return;
		break;
	case JOB_VERDICT:
		verdict_over(h, j, status);
		break;
	default:
		cause_over(h, j->n, status);
	}
	job_over(h, j);
}
