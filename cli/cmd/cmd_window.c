/* SPDX-License-Identifier: MIT */
/* cmd_window.c: fredctl window. */
#include <stdio.h>

#include "base/jsonx.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static void print_place(const json_t *r)
{
	const char *file = out_str(r, "file", NULL), *text = out_str(r, "text", NULL);

	if (json_is_null(json_object_get(r, "function")))
		return;
	fputs(out_str(r, "function", "??"), stdout);
	if (file)
		printf(" at %s:%lld", file, (long long)out_int(r, "line"));
	if (text)
		printf("\n%lld\t%s", (long long)out_int(r, "line"), text);
	putchar('\n');
}

static void print(const struct cli *cli, const json_t *r)
{
	char log[32], loaded[32], touched[32];

	if (!json_is_true(json_object_get(r, "differ"))) {
		puts("no difference: each thread did the same, threads acquired all locks in the same order, and the "
		     "same bytes were written");
		return;
	}
	text_notes(cli, r);
	printf("the runs differ from %s on, thread %lld\n", out_str(r, "from", "?"), (long long)out_int(r, "thread"));
	print_place(r);
	printf("from there to the end, %s: %lld instructions, %lld events (%s of the logs), %s of memory first loaded, "
	       "of "
	       "%s touched\n",
	       out_str(r, "to", "?"), (long long)out_int(r, "instructions"), (long long)out_int(r, "events"),
	       out_bytes((uint64_t)out_int(r, "log_bytes"), log),
	       out_bytes((uint64_t)out_int(r, "loaded_bytes"), loaded),
	       out_bytes((uint64_t)out_int(r, "touched_bytes"), touched));
}

static int exec_window(struct cli *cli, struct err *e)
{
	return client_print(cli, "window", rec_arg_pair(cli, e), print, "differ", e);
}

const struct cli_command cmd_window = {
	.name = "window",
	.help = "count what a failing run executed after it first differed from one that did not fail",
	.usage = "GOOD BAD",
	.exec = exec_window,
	.min_args = 2,
	.max_args = 2,
	.word = WORD_REC,
};
