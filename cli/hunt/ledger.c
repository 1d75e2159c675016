/* SPDX-License-Identifier: MIT */
/* ledger.c: see ledger.h. */
#include "hunt/ledger.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"

void ledger_init(struct ledger *l, const struct hunt_state *state, const struct hunt_spec *spec)
{
	*l = (struct ledger){.state = state, .shard = spec->shard, .shards = spec->shards};
	plan_init(&l->plan, spec->scheds);
}

void ledger_fini(struct ledger *l)
{
	for (size_t i = 0; i < l->nfailures; i++) {
		json_decref(l->failures[i].fail);
		json_decref(l->failures[i].cause);
		free(l->failures[i].dir);
	}
	free(l->failures);
	free(l->done);
	free(l->offsets);
	strv_fini(&l->files);
	plan_fini(&l->plan);
	*l = (struct ledger){0};
}

bool ledger_is_done(const struct ledger *l, uint64_t local)
{
	return local < l->ndone && l->done[local];
}

uint64_t ledger_global(const struct ledger *l, uint64_t local)
{
	return local * l->shards + l->shard;
}

struct failure *ledger_failure(const struct ledger *l, uint64_t n)
{
	for (size_t i = 0; i < l->nfailures; i++)
		if (l->failures[i].n == n)
			return &l->failures[i];
	return NULL;
}

static void set_done(struct ledger *l, uint64_t local)
{
	if (local >= l->ndone) {
		uint64_t n = local + local / 2 + 1024;

		l->done = xrealloc(l->done, n);
		memset(l->done + l->ndone, 0, n - l->ndone);
		l->ndone = n;
	}
	l->done[local] = 1;
	while (ledger_is_done(l, l->prefix))
		l->prefix++;
}

static int class_of(const char *name)
{
	for (int c = 0; c < HUNT_CLASSES; c++)
		if (str_eq(name, hunt_class_name((enum hunt_class)c)))
			return c;
	return -1;
}

static void add_failure(struct ledger *l, struct failure f, const char *at)
{
	size_t i = l->nfailures++;

	f.dir = str_fmt("%s/failures/%s", l->state->dir, at);
	l->failures = xreallocarray(l->failures, l->nfailures, sizeof(f));
	for (; i && l->failures[i - 1].n > f.n; i--)
		l->failures[i] = l->failures[i - 1];
	l->failures[i] = f;
}

static void run_line(struct ledger *l, const json_t *v)
{
	struct failure f = {0};
	const char *sched = NULL, *at = "";
	json_t *fail = NULL;
	bool skip = false;
	uint64_t local;
	struct err ignored;
	int c;

	if (json_get_u64(v, "n", &f.n, &ignored) || json_get_str(v, "sched", &sched, &ignored) ||
	    json_opt_u64(v, "seed", &f.seed, &ignored) || json_opt_real(v, "s", &f.seconds, &ignored) ||
	    json_opt_obj(v, "fail", &fail, &ignored) || json_opt_str(v, "at", &at, &ignored) ||
	    json_opt_bool(v, "skip", &skip, &ignored) || (c = class_of(sched)) < 0 || f.n % l->shards != l->shard) {
		l->lost++;
		return;
	}
	local = f.n / l->shards;
	if (ledger_is_done(l, local))
		return;
	set_done(l, local);
	f.sched = (enum hunt_class)c;
	plan_note(&l->plan, local, f.sched, fail != NULL);
	l->tally.runs[c]++;
	l->tally.failed[c] += fail != NULL;
	l->runs++;
	l->skipped += skip;
	l->failed += fail != NULL;
	if (!fail && !skip && f.seconds > l->longest_s)
		l->longest_s = f.seconds;
	if (!fail)
		return;
	f.fail = json_incref(fail);
	add_failure(l, f, at);
}

static void cause_line(struct ledger *l, const json_t *v)
{
	struct failure *f;
	json_t *cause = NULL;
	struct err ignored;
	uint64_t n;

	if (json_get_u64(v, "n", &n, &ignored) || json_get_obj(v, "cause", &cause, &ignored)) {
		l->lost++;
		return;
	}
	f = ledger_failure(l, n);
	if (!f || f->cause)
		return;
	f->cause = json_incref(cause);
	f->assumed = json_is_true(json_object_get(cause, "assumed"));
}

void ledger_add(struct ledger *l, const json_t *line)
{
	if (str_eq(json_string_value(json_object_get(line, "t")), "run"))
		run_line(l, line);
	else
		cause_line(l, line);
}

struct reading {
	struct ledger *l;
	json_t *causes; /* a cause may be in a file that is read before the one with its run */
};

static void one_line(void *arg, const json_t *v)
{
	struct reading *r = arg;
	const char *t = json_string_value(json_object_get(v, "t"));

	if (str_eq(t, "run"))
		run_line(r->l, v);
	else if (str_eq(t, "cause"))
		json_array_append(r->causes, (json_t *)v);
}

static size_t file_index(struct ledger *l, const char *name)
{
	for (size_t i = 0; i < l->files.n; i++)
		if (str_eq(l->files.s[i], name))
			return i;
	strv_add(&l->files, name);
	l->offsets = xreallocarray(l->offsets, l->files.n, sizeof(*l->offsets));
	l->offsets[l->files.n - 1] = 0;
	return l->files.n - 1;
}

int ledger_read(struct ledger *l, struct err *e)
{
	cleanup_free char *folder = state_path(l->state, "journal", NULL);
	cleanup_closedir DIR *d = opendir(folder);
	cleanup_strv struct strv names = {0};
	struct reading r = {l, json_array()};
	struct dirent *de;
	json_t *cause;
	size_t i;
	int ret = 0;

	if (!d) {
		json_decref(r.causes);
		return err_errno(e, ERR_HOST, "%s", folder);
	}
	while ((de = readdir(d)))
		if (str_ends(de->d_name, ".jsonl"))
			strv_add(&names, de->d_name);
	strv_sort(&names);
	for (i = 0; i < names.n && !ret; i++) {
		cleanup_free char *path = state_path(l->state, "journal", names.s[i]);

		size_t k = file_index(l, names.s[i]);

		ret = journal_read(path, &l->offsets[k], one_line, &r, &l->lost, e);
	}
	json_array_foreach(r.causes, i, cause) cause_line(l, cause);
	json_decref(r.causes);
	return ret;
}
