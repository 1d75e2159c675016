/* SPDX-License-Identifier: MIT */
/* cmd_why.c: fredctl why. */
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
	{"at", "POS", "the position at which EXPR has the value (the failure, or the end)", .word = WORD_POS},
	{"depth", "N", "follow at most N steps, one after the other (5)"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

#define INDENT 4

static void print_operand(const json_t *o, unsigned depth, const char *name);

/* "12. set: it was 3, became 4" */
static void print_words(const json_t *s, unsigned depth)
{
	const char *before = out_str(s, "before", NULL), *after = out_str(s, "after", NULL),
		   *name = out_str(s, "name", NULL);

	printf("%*s%lld. %s", depth * INDENT, "", (long long)out_int(s, "step"), out_str(s, "words", "?"));
	if (before && after)
		printf(": %s was %s, became %s", name ? name : "it", before, after);
	putchar('\n');
}

static void print_step(const json_t *s, unsigned depth)
{
	const json_t *l = json_object_get(s, "location"), *end = json_object_get(s, "end"),
		     *thread = json_object_get(json_object_get(s, "position"), "thread");
	const char *file = out_str(l, "file", NULL), *text = out_str(l, "text", NULL);
	int in = (int)depth * INDENT + 3;
	/* lines are indented further only where the chain branches */
	unsigned next = depth + (json_array_size(json_object_get(s, "operands")) > 1);
	json_t *o;
	size_t k;

	print_words(s, depth);
	printf("%*s%s", in, "", out_str(l, "function", "??"));
	if (file)
		printf(" at %s:%lld", file, (long long)out_int(l, "line"));
	printf(", thread %lld (--at %s)\n", (long long)out_int(thread, "id"), out_str(s, "at", "?"));
	if (text)
		printf("%*s%s%lld\t%s%s\n", in, "", out_style(OUT_BOLD), (long long)out_int(l, "line"), text,
		       out_style(OUT_PLAIN));
	if (json_is_object(end))
		printf("%*s%s\n", in, "", out_str(end, "text", "?"));
	json_array_foreach(json_object_get(s, "operands"), k, o) print_operand(o, next, NULL);
}

static void print_operand(const json_t *o, unsigned depth, const char *name)
{
	const json_t *from = json_object_get(o, "from"), *end = json_object_get(o, "end");

	bool root = name != NULL;

	if (!root)
		name = out_str(o, "name", NULL);
	printf("%*s%s%s%s%s%s is %s\n", depth * INDENT, "", root ? "" : "from ", out_style(OUT_BOLD),
	       name ? name : "what is in ", name ? "" : out_str(o, "where", "?"), out_style(OUT_PLAIN),
	       out_str(o, "value", "?"));
	if (json_is_object(from) && !json_object_get(from, "words"))
		printf("%*ssee step %lld\n", depth * INDENT, "", (long long)out_int(from, "step"));
	else if (json_is_object(from))
		print_step(from, depth);
	else if (json_is_object(end))
		printf("%*s%s\n", depth * INDENT, "", out_str(end, "text", "?"));
}

static void print(const struct cli *cli, const json_t *r)
{
	print_operand(r, 0, out_str(r, "expr", "?"));
	if (!cli->quiet)
		printf("\n%.2f s\n", out_real(json_object_get(r, "stats"), "total_s"));
}

static int exec_why(struct cli *cli, struct err *e)
{
	size_t first;
	json_t *params = rec_arg_depth_params(cli, 1, 1, &first, e);

	if (!params)
		return -1;
	json_object_set_new(params, "expr", json_text(cli->args.s[first], strlen(cli->args.s[first])));
	rec_arg_option(params, cli, "at", "at");
	return client_print(cli, "why", rec_arg_add_process(params, cli, e), print, "found", e);
}

const struct cli_command cmd_why = {
	.name = "why",
	.help = "show where a value came from: the statement that computed it, where its operands came from, and so on",
	.usage = "[REC] EXPR [--at POS] [--depth N] [--process N]",
	.options = options,
	.exec = exec_why,
	.min_args = 1,
	.max_args = 2,
	.word = WORD_EXPR,
};
