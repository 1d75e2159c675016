/* SPDX-License-Identifier: MIT */
/* cmd_daemon.c: fredctl status and shutdown. */
#include <stdio.h>

#include "client/client.h"
#include "client/out.h"
#include "cmd/commands.h"

static void print(const json_t *r)
{
	json_t *op;
	size_t i;

	printf("fredd %s, PID %lld, up %.0f s, %lld clients\n", out_str(r, "version", "?"),
	       (long long)out_int(r, "pid"), out_real(r, "uptime_s"), (long long)out_int(r, "clients"));
	json_array_foreach(json_object_get(r, "operations"), i, op)
		printf("  %lld %s, %.1f s, %.0f%%, %s\n", (long long)out_int(op, "op"), out_str(op, "method", "?"),
		       out_real(op, "elapsed_s"), out_real(op, "fraction") * 100, out_str(op, "rec", ""));
}

static int exec_status(struct cli *cli, struct err *e)
{
	json_auto_t *result = NULL;
	struct client c;
	int r = client_open(&c, cli, CLIENT_ONLY_RUNNING, e);

	if (!r && c.fd >= 0)
		r = client_call(&c, "status", NULL, &result, e);
	client_close(&c);
	if (r)
		return -1;
	if (result)
		json_object_set_new(result, "running", json_true());
	else
		result = json_pack("{s:b}", "running", 0);
	if (cli->json)
		return out_json(result, e);
	if (json_is_true(json_object_get(result, "running")))
		print(result);
	else
		puts("fredd is not running");
	return 0;
}

const struct cli_command cmd_status = {
	.name = "status",
	.help = "show what the daemon is doing",
	.usage = "",
	.exec = exec_status,
};

/* Returns when the daemon has gone. */
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
		puts(json_is_true(json_object_get(result, "stopped")) ? "fredd has stopped" : "fredd was not running");
	return 0;
}

const struct cli_command cmd_shutdown = {
	.name = "shutdown",
	.help = "cancel all operations and end the daemon",
	.usage = "",
	.exec = exec_shutdown,
};
