/* SPDX-License-Identifier: MIT */
/* cmd_checkpoint.c: fredctl checkpoint, checkpoints, restart: a debugging session's, from outside of it. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "frontend/attach.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "bridge/session.h"

static const struct cli_option options[] = {
	{"session", "ID", "this session (the one that runs, else the one that ran last)"},
	{0},
};

/* {"name", "event", "pc", "hits", "image"} of all, or NULL. */
static json_t *checkpoints_of(const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "program.json");
	json_auto_t *program = path_exists(path) ? json_load_path(path, e) : json_object();
	json_t *list = json_object_get(json_object_get(program, "checkpoints"), "places");

	if (!program)
		return NULL;
	return list ? json_incref(list) : json_array();
}

/* Runs a command of GDB's in the session. *dir: its folder; *before: how many checkpoints it had. */
static int run(const struct cli *cli, const char *command, char **id, char **dir, size_t *before, struct err *e)
{
	const char *more[] = {"--quiet", command, NULL};
	struct attach a = {.hold = -1};
	int code = -1;

	if (!attach_open(&a, cli_value(cli, "session"), NULL, e)) {
		json_auto_t *list = checkpoints_of(a.dir, e);

		*before = json_array_size(list);
		*id = xstrdup(a.id);
		*dir = xstrdup(a.dir);
		code = list ? attach_repl(&a, more, e) : -1;
	}
	attach_close(&a);
	return code;
}

static uint64_t number(const json_t *place)
{
	uint64_t n = 0;

	return str_u64(out_str(place, "name", ""), 10, 1, UINT64_MAX, &n) ? 0 : n;
}

static json_t *describe(const json_t *place)
{
	return json_pack("{s:I, s:O, s:o, s:O}", "checkpoint", (json_int_t)number(place), "event",
			 json_object_get(place, "event"), "position",
			 json_sprintf("%lld/0x%llx#%lld", (long long)out_int(place, "event"),
				      (unsigned long long)out_int(place, "pc"), (long long)out_int(place, "hits")),
			 "image", json_object_get(place, "image"));
}

static void print(const json_t *v)
{
	printf("%-4lld %s\n", (long long)out_int(v, "checkpoint"), out_str(v, "position", "?"));
}

static int exec_checkpoints(struct cli *cli, struct err *e)
{
	json_auto_t *one = session_find(cli_value(cli, "session"), 0, e);
	cleanup_free char *all = one ? session_folder(e) : NULL;
	cleanup_free char *dir = all ? path_join(all, out_str(one, "id", "")) : NULL;
	json_auto_t *list = dir ? checkpoints_of(dir, e) : NULL;
	json_auto_t *v = NULL;
	json_t *shown = json_array(), *place;
	size_t i;

	v = json_pack("{s:O*, s:o}", "session", json_object_get(one, "id"), "checkpoints", shown);
	if (!list)
		return -1;
	json_array_foreach(list, i, place)
		json_array_append_new(shown, describe(place));
	if (cli->json)
		return out_json(v, e);
	json_array_foreach(shown, i, place)
		print(place);
	return 0;
}

/* That of this name; NULL: the one that was made last, if there are more than `before`. */
static json_t *find(const char *dir, const char *name, size_t before, struct err *e)
{
	json_auto_t *list = checkpoints_of(dir, e);

	for (size_t i = json_array_size(list); i-- > (name ? 0 : before);) {
		const json_t *place = json_array_get(list, i);

		if (!name || str_eq(name, out_str(place, "name", "")))
			return describe(place);
	}
	if (list)
		err_set(e, name ? ERR_USAGE : ERR_INTERNAL, name ? "there is no checkpoint %s (fredctl checkpoints)" :
							  "the session made no checkpoint%s", name ? name : "");
	return NULL;
}

static int tell(const struct cli *cli, const char *id, json_t *v, struct err *e)
{
	int r = 0;

	if (!v)
		return -1;
	json_object_set_new(v, "session", json_string(id));
	if (cli->json)
		r = out_json(v, e);
	else
		print(v);
	json_decref(v);
	return r;
}

static int exec_checkpoint(struct cli *cli, struct err *e)
{
	cleanup_free char *id = NULL, *dir = NULL;
	size_t before = 0;
	int code = run(cli, "checkpoint", &id, &dir, &before, e);

	return code ? code : tell(cli, id, find(dir, NULL, before, e), e);
}

static int exec_restart(struct cli *cli, struct err *e)
{
	cleanup_free char *id = NULL, *dir = NULL, *command = str_fmt("restart %s", cli->args.s[0]);
	size_t before = 0;
	uint64_t n;
	int code;

	if (str_u64(cli->args.s[0], 10, 1, 1u << 30, &n))
		return err_set(e, ERR_USAGE, "restart N: '%s' is no number of a checkpoint", cli->args.s[0]);
	code = run(cli, command, &id, &dir, &before, e);
	return code ? code : tell(cli, id, find(dir, cli->args.s[0], 0, e), e);
}

const struct cli_command cmd_checkpoint = {
	.name = "checkpoint",
	.help = "checkpoint a debugging session where it stands",
	.usage = "[--session ID]",
	.options = options,
	.exec = exec_checkpoint,
};

const struct cli_command cmd_checkpoints = {
	.name = "checkpoints",
	.help = "list the checkpoints of a debugging session",
	.usage = "[--session ID]",
	.options = options,
	.exec = exec_checkpoints,
};

const struct cli_command cmd_restart = {
	.name = "restart",
	.help = "take a debugging session back to a checkpoint",
	.usage = "N [--session ID]",
	.options = options,
	.exec = exec_restart,
	.min_args = 1,
	.max_args = 1,
};
