/* SPDX-License-Identifier: MIT */
/* cmd_rm.c: fredctl rm. Removes what is a recording, nothing else; all that are named, or none. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "client/client.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/paths.h"
#include "recfiles/running.h"
#include "recfiles/shared_files.h"

/* The number of an operation of the daemon on this recording, 0: there is none. */
static json_int_t operation_on(const json_t *status, const char *dir)
{
	json_t *op;
	size_t i;

	json_array_foreach(json_object_get(status, "operations"), i, op)
		if (str_eq(out_str(op, "rec", NULL), dir))
			return out_int(op, "op");
	return 0;
}

/* NULL when no daemon runs, or none that answers: then nothing of it can be in use. */
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
		return err_set(e, ERR_USAGE,
			       "%s is in use: operation %lld of the daemon (fredctl status)", dir,
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

/* Of several: a line for each one that failed, and then what came of it. Of one: what is wrong with it. */
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

/* A misspelt name is noticed before it costs a recording: when one of them cannot be removed, none is. */
static int check_all(const struct cli *cli, struct strv *dirs, struct err *e)
{
	struct failures failed = {0};
	struct err why;

	for (size_t i = 0; i < cli->args.n; i++) {
		cleanup_free char *dir = removable(cli, cli->args.s[i], &why);

		if (!dir)
			add_failure(&failed, &why);
		else if (!strv_has(dirs, dir))
			strv_add(dirs, dir);
	}
	return end_failures(&failed, cli->args.n, "nothing was removed", e);
}

static int exec_rm(struct cli *cli, struct err *e)
{
	cleanup_strv struct strv dirs = {0};
	json_auto_t *list = json_array();
	json_auto_t *v = NULL;
	struct failures failed = {0};
	struct err why;

	if (check_all(cli, &dirs, e))
		return -1;
	for (size_t i = 0; i < dirs.n; i++) {
		if (!rm_rf(dirs.s[i], &why)) {
			json_array_append_new(list, json_text(dirs.s[i], strlen(dirs.s[i])));
			continue;
		}
		why.kind = ERR_HOST;
		add_failure(&failed, &why);
	}
	shared_files_sweep();
	if (end_failures(&failed, dirs.n, "the others were", e))
		return -1;
	v = json_pack("{s:O}", "removed", list);
	return cli->json ? out_json(v, e) : 0;
}

const struct cli_command cmd_rm = {
	.name = "rm",
	.help = "remove recordings",
	.usage = "REC...",
	.exec = exec_rm,
	.min_args = 1,
	.max_args = ~0u,
	.word = WORD_REC,
};
