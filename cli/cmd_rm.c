/* SPDX-License-Identifier: MIT */
/* cmd_rm.c: fredctl rm. Removes what is a recording, nothing else. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/paths.h"

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
		if (rm_rf(dir, e))
			return -1;
		json_array_append_new(list, json_text(dir, strlen(dir)));
	}
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
