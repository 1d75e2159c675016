/* SPDX-License-Identifier: MIT */
/* gdb.c: fredctl debug -- PROGRAM: the GDB of a live program. */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "frontend/gdb_run.h"
#include "live/live.h"

/* As GDB reads a command line. A line's end cannot be in a command. */
static void add_quoted(struct buf *b, const char *word)
{
	buf_add_str(b, *word ? " " : " ''");
	for (; *word; word++)
		buf_addf(b, strchr("\\'\" \t$;&|<>()*?[]#~`!{}", *word) ? "\\%c" : "%c", *word);
}

static int set_args(const struct cli *cli, struct buf *b, struct err *e)
{
	buf_add_str(b, "set args");
	for (size_t i = 1; i < cli->args.n; i++) {
		if (strchr(cli->args.s[i], '\n'))
			return err_set(e, ERR_USAGE, "debug: an argument of more than one line cannot be given to GDB");
		add_quoted(b, cli->args.s[i]);
	}
	return 0;
}

int live_debug(const struct cli *cli, int *code, struct err *e)
{
	cleanup_strv struct strv args = {0};
	cleanup_buf struct buf program_args = {0};
	struct live_opts o = {.cli = cli, .record = {.dir = cli_value(cli, "output")}};
	const char *sched = cli_value(cli, "sched"),
		   *settings[] = {NULL, "set sysroot /", "set startup-with-shell on",
				  "if $_fred_python == 1\npython add_run()\nend", NULL};
	struct bridge b;
	int r;

	if (cli_has(cli, "at") || cli_has(cli, "pid") || cli_has(cli, "process") || cli_has(cli, "resume"))
		return err_set(e, ERR_USAGE,
			       "debug: --at, --pid, --process and --resume are about a recording, not about a program");
	if (record_set_sched(&o.record, sched ? sched : "serial", e) || set_args(cli, &program_args, e))
		return -1;
	settings[0] = buf_str(&program_args);
	strv_add_all(&o.program, (const char *const *)cli->args.s);
	r = live_start(&b, &o, code, e);
	if (!r) {
		strv_add_all(&args, (const char *const[]){"-q", cli->args.s[0], NULL});
		if (cli->gdb.n)
			strv_add_all(&args, (const char *const *)cli->gdb.s);
		r = gdb_run(&b, &(struct gdb_run){.args = &args, .settings = settings}, code, e);
	}
	bridge_end(&b);
	strv_fini(&o.program);
	return r;
}
