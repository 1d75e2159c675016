/* SPDX-License-Identifier: MIT */
/* recordings.c: see recordings.h. */
#include "recfiles/recordings.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "client/client.h"
#include "client/out.h"
#include "client/paths.h"
#include "recfiles/running.h"
#include "recfiles/shared_files.h"

/* One recording as far as its meta.json can be read: a damaged one is listed too. */
static json_t *describe(const char *all, const char *name)
{
	cleanup_free char *dir = path_join(all, name);
	cleanup_free char *path = path_join(dir, "meta.json");
	struct err e;
	json_auto_t *meta = json_load_path(path, &e);
	unsigned long long own, shared;
	json_t *o;
	static const char *const keys[] = {"program", "argv",  "created", "ended",    "exit",
					   "wall_s",  "sched", "malloc",  "complete", "max_log"};

	shared_files_usage(dir, &own, &shared);
	o = json_pack("{s:o, s:o, s:I, s:I}", "name", json_text(name, strlen(name)), "recording",
		      json_text(dir, strlen(dir)), "bytes", (json_int_t)own, "shared_bytes", (json_int_t)shared);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_get(meta, keys[i]))
			json_object_set(o, keys[i], json_object_get(meta, keys[i]));
	if (!json_is_object(meta))
		json_object_set_new(o, "damaged", json_text(e.text, strlen(e.text)));
	return o;
}

static void insert_by_time(json_t *list, json_t *o)
{
	size_t at = json_array_size(list);

	while (at && strcmp(out_str(json_array_get(list, at - 1), "created", ""), out_str(o, "created", "")) > 0)
		at--;
	json_array_insert_new(list, at, o);
}

json_t *recordings_list(struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e);
	cleanup_strv struct strv names = {0};
	cleanup_closedir DIR *d = all ? opendir(all) : NULL;
	struct dirent *de;
	json_t *list;

	if (!d) {
		if (all)
			err_errno(e, ERR_HOST, "%s", all);
		return NULL;
	}
	while ((de = readdir(d)))
		if (de->d_name[0] != '.')
			strv_add(&names, de->d_name);
	strv_sort(&names);
	list = json_array();
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *meta = str_fmt("%s/%s/meta.json", all, names.s[i]);

		if (path_exists(meta))
			insert_by_time(list, describe(all, names.s[i]));
	}
	return list;
}

/* ---- removal ---- */

/* The number of an operation of the daemon on this recording, 0: there is none. */
static json_int_t operation_on(const json_t *status, const char *dir)
{
	json_t *op;
	size_t i;

	json_array_foreach(json_object_get(status, "operations"), i,
			   op) if (str_eq(out_str(op, "rec", NULL), dir)) return out_int(op, "op");
	return 0;
}

/* NULL: no daemon runs, or it does not answer; then no operation uses the recording. */
static json_t *daemon_status(const struct cli *cli)
{
	json_t *status = NULL;
	struct client c;
	struct err ignored;

	if (!client_open(&c, cli, CLIENT_ONLY_RUNNING, &ignored) && c.fd >= 0)
		client_call(&c, "status", NULL, &status, &ignored);
	client_close(&c);
	return status;
}

static int check_unused(const struct cli *cli, const char *dir, struct err *e)
{
	json_auto_t *status = daemon_status(cli);
	json_int_t op = operation_on(status, dir);

	if (op)
		return err_set(e, ERR_USAGE, "%s is in use: operation %lld of the daemon (fredctl status)", dir,
			       (long long)op);
	if (running_any(dir))
		return err_set(e, ERR_USAGE, "%s is in use: a program still records into it", dir);
	return 0;
}

/* The directory of a recording that may be removed; malloc'd, or NULL. */
static char *removable(const struct cli *cli, const char *name, struct err *e)
{
	cleanup_free char *dir = paths_recording(name, e);
	cleanup_free char *meta = dir ? path_join(dir, "meta.json") : NULL;

	if (!dir)
		return NULL;
	if (!path_exists(meta)) {
		err_set(e, ERR_USAGE, "%s: not a recording: no meta.json", dir);
		return NULL;
	}
	return check_unused(cli, dir, e) ? NULL : steal_ptr(&dir);
}

/* Failures of several removals: each is a line on standard error, and a message sums them up; a single one is the
 * message. */
struct failures {
	struct strv texts;
	enum err_kind kind;
};

static void add_failure(struct failures *f, const struct err *why)
{
	strv_add(&f->texts, why->text);
	f->kind = why->kind > f->kind ? why->kind : f->kind;
}

/* 0 without failures; else -1, with `what` in the message when there were several names. */
static int end_failures(struct failures *f, size_t names, const char *what, struct err *e)
{
	size_t n = f->texts.n;

	if (n == 1)
		err_set(e, f->kind, "%s%s%s", f->texts.s[0], names > 1 ? "; " : "", names > 1 ? what : "");
	for (size_t i = 0; i < n && n > 1; i++)
		fprintf(stderr, "fred: %s\n", f->texts.s[i]);
	if (n > 1)
		err_set(e, f->kind, "%zu of %zu recordings cannot be removed: %s", n, names, what);
	strv_fini(&f->texts);
	return n ? -1 : 0;
}

/* The directories to remove. If one of them cannot be removed, none is: a misspelt name must not cost a recording. */
static int check_all(const struct cli *cli, const struct strv *names, struct strv *dirs, struct err *e)
{
	struct failures failed = {0};
	struct err why;

	for (size_t i = 0; i < names->n; i++) {
		cleanup_free char *dir = removable(cli, names->s[i], &why);

		if (!dir)
			add_failure(&failed, &why);
		else if (!strv_has(dirs, dir))
			strv_add(dirs, dir);
	}
	return end_failures(&failed, names->n, "nothing was removed", e);
}

json_t *recordings_remove(const struct cli *cli, const struct strv *names, struct err *e)
{
	cleanup_strv struct strv dirs = {0};
	struct failures failed = {0};
	struct err why;
	json_t *removed;

	if (check_all(cli, names, &dirs, e))
		return NULL;
	removed = json_array();
	for (size_t i = 0; i < dirs.n; i++) {
		if (!rm_rf(dirs.s[i], &why)) {
			json_array_append_new(removed, json_text(dirs.s[i], strlen(dirs.s[i])));
			continue;
		}
		why.kind = ERR_HOST;
		add_failure(&failed, &why);
	}
	shared_files_sweep();
	if (!end_failures(&failed, dirs.n, "the others were", e))
		return removed;
	json_decref(removed);
	return NULL;
}
