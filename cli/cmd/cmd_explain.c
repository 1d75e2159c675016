/* SPDX-License-Identifier: MIT */
/* cmd_explain.c: fredctl explain. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"

static const struct cli_option options[] = {
	{"depth", "N", "follow at most N steps (24)"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

/* "thread 2, event 281 (--at 281/0x555555555319#1)" */
static void print_step_position(const json_t *step)
{
	const json_t *pos = json_object_get(step, "position"), *thread = json_object_get(pos, "thread");

	printf("   thread %lld, event %lld of %lld (--at %s)\n", (long long)out_int(thread, "id"),
	       (long long)out_int(pos, "event"), (long long)out_int(pos, "events_total"), out_str(step, "at", "?"));
}

static void print_place(const json_t *step)
{
	const json_t *l = json_object_get(step, "location");
	const char *file = out_str(l, "file", NULL), *text = out_str(l, "text", NULL);

	if (file)
		printf("   %s at %s:%lld\n", out_str(l, "function", "??"), file, (long long)out_int(l, "line"));
	else
		printf("   %s\n", out_str(l, "function", "??"));
	if (text)
		printf("   %s%lld\t%s%s\n", out_style(OUT_BOLD), (long long)out_int(l, "line"), text,
		       out_style(OUT_PLAIN));
}

static void print_threads(const json_t *r)
{
	json_t *t;
	size_t i;

	json_array_foreach(json_object_get(r, "threads"), i, t)
	{
		const json_t *id = json_object_get(t, "thread");

		printf("\nthread %lld (TID %lld)%s%s\n", (long long)out_int(id, "id"), (long long)out_int(id, "tid"),
		       json_is_string(json_object_get(t, "waits")) ? " " : "", out_str(t, "waits", ""));
		text_frames(json_object_get(t, "backtrace"));
	}
}

/* A step of a damaged block's life. */
static void print_moment(const json_t *step, const char *label)
{
	if (!json_is_object(step))
		return;
	printf("\n   %s%s\n", label, out_str(step, "words", "?"));
	print_place(step);
	print_step_position(step);
	text_frames(json_object_get(step, "backtrace"));
}

static void print_damage(const json_t *list)
{
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)list, i, o)
	{
		printf("\n%sdamaged block %zu of %zu%s: %s\n", out_style(OUT_BOLD), i + 1, json_array_size(list),
		       out_style(OUT_PLAIN), out_str(o, "text", "?"));
		if (json_is_null(json_object_get(o, "cause")))
			printf("\n   the statement was not found: %s\n",
			       out_str(json_object_get(o, "end"), "text", "?"));
		print_moment(json_object_get(o, "cause"), "cause: ");
		print_moment(json_object_get(o, "freed"), "");
		print_moment(json_object_get(o, "allocated"), "");
	}
}

/* Guesses, which are printed apart from the chain. */
static void print_candidates(const json_t *list)
{
	json_t *v;
	size_t i;

	if (json_array_size(list))
		printf("\nnot certain, the most suspicious first: statements that the failed check depended on\n");
	json_array_foreach((json_t *)list, i, v)
	{
		const json_t *l = json_object_get(v, "location");
		const char *text = out_str(l, "text", "");

		printf("  %s at %s:%lld: %s (--at %s)\n", out_str(l, "function", "?"), out_str(l, "file", "?"),
		       (long long)json_integer_value(json_object_get(l, "line")), text + strspn(text, " \t"),
		       out_str(v, "at", "?"));
	}
}

static void print(const struct cli *cli, const json_t *r)
{
	const json_t *chain = json_object_get(r, "chain"), *end = json_object_get(r, "end"),
		     *cause = json_object_get(r, "cause");
	const char *kind = out_str(json_object_get(r, "failure"), "kind", "");
	size_t i, n = str_eq(kind, "heap-damage") ? 0 : json_array_size(chain);
	json_t *step;

	printf("%s%s%s\n", out_style(OUT_BOLD), out_str(json_object_get(r, "failure"), "text", "?"),
	       out_style(OUT_PLAIN));
	/* for a damaged heap, everything follows below */
	json_array_foreach(str_eq(kind, "heap-damage") ? NULL : (json_t *)chain, i, step)
	{
		bool last = i + 1 == n && json_is_object(cause);

		printf("\n%zu. %s%s\n", i + 1, last && n > 1 ? "cause: " : "", out_str(step, "words", "?"));
		print_place(step);
		print_step_position(step);
	}
	if (n)
		printf("\n%s%s\n", json_is_object(cause) ? "" : "the cause was not found: ", out_str(end, "text", ""));
	if (n && json_is_object(cause)) {
		putchar('\n');
		text_frames(json_object_get(cause, "backtrace"));
	}
	print_candidates(json_object_get(r, "candidates"));
	print_threads(r);
	print_damage(json_object_get(r, "damage"));
	if (!cli->quiet)
		printf("\n%.2f s\n", out_real(json_object_get(r, "stats"), "total_s"));
}

static int exec_explain(struct cli *cli, struct err *e)
{
	size_t first;
	json_t *params = rec_arg_depth_params(cli, 0, 0, &first, e);

	return client_print(cli, "explain", rec_arg_add_process(params, cli, e), print, "found", e);
}

const struct cli_command cmd_explain = {
	.name = "explain",
	.help = "find the cause of a failure: a crash, a failed assertion, a deadlock or an exit status",
	.usage = "[REC] [--depth N] [--process N]",
	.options = options,
	.exec = exec_explain,
	.max_args = 1,
	.word = WORD_REC,
};
