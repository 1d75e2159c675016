/* SPDX-License-Identifier: MIT */
/* cmd_rm.c: fredctl rm. Removes what is a recording, nothing else. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/paths.h"
#include "cli/record.h"
#include "cli/shared.h"

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
	if (record_is_running(dir))
		return err_set(e, ERR_USAGE, "%s is in use: a program still records into it", dir);
	return 0;
}

static int exec_rm(struct cli *cli, struct err *e)
{
	json_auto_t *list = json_array();
	json_auto_t *v = NULL;

	for (size_t i = 0; i < cli->args.n; i++) {
		cleanup_free char *dir = paths_recording(cli->args.s[i], e);
		cleanup_free char *meta = dir ? path_join(dir, "meta.json") : NULL;

		if (!dir)
			return -1;
		if (!path_exists(meta))
			return err_set(e, ERR_USAGE, "%s: not a recording: no meta.json", dir);
		if (check_unused(cli, dir, e))
			return -1;
		if (rm_rf(dir, e)) {
			e->kind = ERR_HOST;
			return -1;
		}
		json_array_append_new(list, json_text(dir, strlen(dir)));
	}
	shared_sweep();
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
