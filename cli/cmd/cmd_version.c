/* SPDX-License-Identifier: MIT */
/* cmd_version.c: fredctl version. */
#include <stdio.h>

#include "cmd/commands.h"
#include "client/out.h"
#include "rlog/rlog.h"
#include "wire/methods.h"

static int exec_version(struct cli *cli, struct err *e)
{
	json_auto_t *v = json_pack("{s:s, s:i, s:i}", "version", FRED_VERSION, "recording_format",
				   (int)RLOG_VERSION, "protocol", WIRE_PROTOCOL);

	if (cli->json)
		return out_json(v, e);
	puts("fredctl " FRED_VERSION);
	return 0;
}

const struct cli_command cmd_version = {
	.name = "version",
	.help = "print the version",
	.usage = "",
	.exec = exec_version,
};
