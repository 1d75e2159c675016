/* SPDX-License-Identifier: MIT */
/* cmd_pack.c: fredctl pack and unpack: a recording as one file, for another machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "pack/pack.h"
#include "recfiles/running.h"

static const struct cli_option pack_options[] = {
	{"without-data", NULL, "leave out the data that the program read: events and info still work, replays do not"},
	{"from", "POS", "only a window, which replays without the rest: where it begins (start)", .word = WORD_POS},
	{"to", "POS", "where the window ends (end)", .word = WORD_POS},
	{"count", NULL, "count the instructions of the window, too, in one more replay"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* ---- a window ---- */

static int print_window(struct cli *cli, const char *dir, const char *file, uint64_t bytes, const json_t *cut,
			struct err *e)
{
	const json_t *memory = json_object_get(cut, "memory"), *files = json_object_get(cut, "files");
	char size[32], some[32], all[32], code[32];
	json_auto_t *v = json_deep_copy(cut);

	if (cli->json) {
		json_object_set_new(v, "recording", json_text(dir, strlen(dir)));
		json_object_set_new(v, "file", json_text(file, strlen(file)));
		json_object_set_new(v, "bytes", json_integer((json_int_t)bytes));
		return out_json(v, e);
	}
	text_notes(cli, cut);
	printf("%s: %s: events %lld to %lld", file, out_bytes(bytes, size), (long long)out_int(cut, "from"),
	       (long long)out_int(cut, "to"));
	if (json_is_integer(json_object_get(cut, "instructions")))
		printf(", %lld instructions", (long long)out_int(cut, "instructions"));
	if (memory)
		printf(", %s of %s of memory, %s of files", out_bytes((uint64_t)out_int(memory, "kept"), some),
		       out_bytes((uint64_t)out_int(memory, "all"), all),
		       out_bytes((uint64_t)out_int(files, "kept"), code));
	putchar('\n');
	return 0;
}

static int pack_cut(struct cli *cli, const char *dir, const char *file, const char *folder, struct err *e)
{
	json_t *params = rec_arg_add_process(
		json_pack("{s:o, s:o}", "rec", json_text(dir, strlen(dir)), "dir", json_text(folder, strlen(folder))),
		cli, e);
	json_auto_t *cut = NULL;
	uint64_t bytes;

	if (!params)
		return -1;
	rec_arg_option(params, cli, "from", "from");
	rec_arg_option(params, cli, "to", "to");
	rec_arg_flag(params, cli, "count");
	if (client_run(cli, "cut", params, &cut, e) || pack_write(folder, file, false, &bytes, e))
		return -1;
	return print_window(cli, dir, file, bytes, cut, e);
}

/* Makes the window in a folder beside the file, where there must be enough room anyway. */
static int pack_window(struct cli *cli, const char *dir, const char *file, struct err *e)
{
	cleanup_free char *absolute = path_absolute(file), *folder = absolute ? str_fmt("%s.XXXXXX", absolute) : NULL;
	struct err ignored;
	int r;

	if (path_exists(file))
		return err_set(e, ERR_USAGE, "%s exists already: remove it, or give another name", file);
	if (!folder || !mkdtemp(folder))
		return err_errno(e, ERR_HOST, "%s", file);
	r = pack_cut(cli, dir, file, folder, e);
	rm_rf(folder, &ignored);
	return r;
}

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
	if (cli_has(cli, "from") || cli_has(cli, "to")) {
		if (without_data)
			return err_set(e, ERR_USAGE,
				       "--without-data excludes --from and --to: a window is for replaying, which "
				       "needs the data");
		return pack_window(cli, dir, file, e);
	}
	if (cli_has(cli, "count"))
		return err_set(e, ERR_USAGE, "--count needs --from or --to: it counts the instructions of a window");
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
	.help = "pack a recording, or a window of it, into one file",
	.usage = "[--without-data] [--from POS] [--to POS] [--count] [--process N] [REC] FILE",
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
