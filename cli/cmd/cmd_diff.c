/* SPDX-License-Identifier: MIT */
/* cmd_diff.c: fredctl diff. */
#include <stdio.h>

#include "base/jsonx.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static void print_side(const char *name, const json_t *side)
{
	const json_t *thread = json_object_get(side, "thread");

	if (!json_is_integer(json_object_get(side, "event"))) {
		printf("%s: thread %lld: %s\n", name, (long long)out_int(side, "thread_id"),
		       out_str(side, "text", "?"));
		return;
	}
	printf("%s: thread %lld%s%s, event %lld of %lld: %s\n", name, (long long)out_int(side, "thread_id"),
	       json_is_string(json_object_get(thread, "name")) ? " " : "", out_str(thread, "name", ""),
	       (long long)out_int(side, "event"), (long long)out_int(side, "events_total"), out_str(side, "text", "?"));
	text_location(json_object_get(side, "location"));
	text_frames(json_object_get(side, "backtrace"));
}

static void print_sides(const json_t *p)
{
	print_side("good", json_object_get(p, "good"));
	putchar('\n');
	print_side("bad ", json_object_get(p, "bad"));
}

static void print(const struct cli *cli, const json_t *r)
{
	const json_t *parts = json_object_get(r, "parts"), *order = json_object_get(r, "order"),
		     *output = json_object_get(r, "output");

	if (!json_is_true(json_object_get(r, "differ"))) {
		puts("no difference: each thread did the same, threads acquired all locks in the same order, and the "
		     "same bytes were written");
		return;
	}
	if (json_is_object(parts)) {
		printf("the threads do the same up to their event %lld, and then differ:\n\n",
		       (long long)out_int(parts, "index"));
		print_sides(parts);
	} else {
		puts("each thread did the same");
	}
	if (json_is_object(order)) {
		printf("\n%sin another order, from its acquisition %lld on:\n\n",
		       json_is_object(parts) ? "before or after that, threads acquired a lock "
					     : "but threads acquired a lock ",
		       (long long)out_int(order, "index") + 1);
		print_sides(order);
	}
	if (json_is_object(output) && !json_is_object(parts)) {
		puts("\nbut a call wrote other bytes:\n");
		print_sides(output);
	}
}

static int exec_diff(struct cli *cli, struct err *e)
{
	return client_print(cli, "diff", rec_arg_pair(cli, e), print, "differ", e);
}

const struct cli_command cmd_diff = {
	.name = "diff",
	.help = "show the first event and statement at which two recordings of a program differ",
	.usage = "GOOD BAD",
	.exec = exec_diff,
	.min_args = 2,
	.max_args = 2,
	.word = WORD_REC,
};
