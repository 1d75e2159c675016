/* SPDX-License-Identifier: MIT */
/* cmd_shutdown.c: fredctl shutdown. Returns when the daemon has gone. */
#include <stdio.h>

#include "client/client.h"
#include "cmd/commands.h"
#include "client/out.h"

static int exec_shutdown(struct cli *cli, struct err *e)
{
	json_auto_t *result = NULL;
	struct client c;
	int r = client_open(&c, cli, CLIENT_ONLY_RUNNING, e);

	if (!r && c.fd >= 0) {
		r = client_call(&c, "shutdown", NULL, &result, e);
		if (!r)
			client_wait_close(&c);
	}
	client_close(&c);
	if (r)
		return -1;
	if (!result)
		result = json_pack("{s:b, s:i}", "stopped", 0, "cancelled", 0);
	if (cli->json)
		return out_json(result, e);
	if (!cli->quiet)
		puts(json_is_true(json_object_get(result, "stopped")) ? "fredd has stopped"
								      : "fredd was not running");
	return 0;
}

const struct cli_command cmd_shutdown = {
	.name = "shutdown",
	.help = "cancel all operations and end the daemon",
	.usage = "",
	.exec = exec_shutdown,
};
