/* SPDX-License-Identifier: MIT */
/* cmd_pack.c: fredctl pack and unpack: a recording as one file, for another machine. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "client/out.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "pack/pack.h"
#include "recfiles/running.h"

static const struct cli_option pack_options[] = {
	{"without-data", NULL, "leave out the data that the program read: events and info still work, replays do not"},
	{0},
};

static int exec_pack(struct cli *cli, struct err *e)
{
	size_t first;
	cleanup_free char *dir = rec_arg(cli, 1, 1, &first, e);
	bool without_data = cli_has(cli, "without-data");
	json_auto_t *v = NULL;
	const char *file;
	char size[32];
	uint64_t bytes;

	if (!dir)
		return -1;
	file = cli->args.s[first];
	if (running_any(dir))
		return err_set(e, ERR_USAGE, "%s: a program still records into it", dir);
	if (pack_write(dir, file, without_data, &bytes, e))
		return -1;
	if (without_data)
		out_note(cli, "%s holds the program, its arguments and which calls it made, not what it read", file);
	else
		out_note(cli,
			 "%s holds all that the program read, its environment included: passwords and keys, if there "
			 "were any (--without-data leaves them out)",
			 file);
	if (!cli->json) {
		printf("%s: %s\n", file, out_bytes(bytes, size));
		return 0;
	}
	v = json_pack("{s:o, s:o, s:I, s:b}", "recording", json_text(dir, strlen(dir)), "file",
		      json_text(file, strlen(file)), "bytes", (json_int_t)bytes, "without_data", without_data);
	return out_json(v, e);
}

const struct cli_command cmd_pack = {
	.name = "pack",
	.help = "pack a recording into one file",
	.usage = "[--without-data] [REC] FILE",
	.options = pack_options,
	.exec = exec_pack,
	.min_args = 1,
	.max_args = 2,
	.word = WORD_REC,
};

static const struct cli_option unpack_options[] = {
	{"output", "DIR", "put the recording into DIR (default: a new one under $FRED_HOME)", .word = WORD_DIR,
	 .letter = 'o'},
	{0},
};

static int exec_unpack(struct cli *cli, struct err *e)
{
	cleanup_free char *dir = NULL;
	json_auto_t *v = NULL;
	struct pack *p;
	int r;

	if (pack_open(cli->args.s[0], &p, e))
		return -1;
	r = pack_unpack(p, cli_value(cli, "output"), &dir, e);
	if (!r) {
		v = json_pack("{s:o, s:o, s:O?}", "name", json_text(path_base(dir), strlen(path_base(dir))),
			      "recording", json_text(dir, strlen(dir)), "program",
			      json_object_get(pack_meta(p), "program"));
		if (cli->json)
			r = out_json(v, e);
		else
			puts(dir);
	}
	pack_close(p);
	return r;
}

const struct cli_command cmd_unpack = {
	.name = "unpack",
	.help = "unpack a file into a recording",
	.usage = "[-o DIR] FILE",
	.options = unpack_options,
	.exec = exec_unpack,
	.min_args = 1,
	.max_args = 1,
	.word = WORD_FILE,
};
