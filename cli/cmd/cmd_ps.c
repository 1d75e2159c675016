/* SPDX-License-Identifier: MIT */
/* cmd_ps.c: fredctl ps: the processes of a recording. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "reclog/procs.h"

/* "exec 1": what made it, and of which process. */
static void print_origin(const json_t *p)
{
	long long parent = (long long)out_int(p, "parent");

	if (parent)
		printf("  %s %-4lld", out_str(p, "origin", "?"), parent);
	else
		printf("  %-9s", "-");
}

static void print_time(const json_t *p, const char *key)
{
	if (json_is_real(json_object_get(p, key)))
		printf("  %9.3f s", out_real(p, key));
	else
		printf("  %11s", "?");
}

static void print_end(const json_t *end)
{
	char text[32];

	if (json_object_get(end, "exec"))
		snprintf(text, sizeof(text), "exec: %lld", (long long)out_int(end, "exec"));
	else
		text_exit(json_is_object(end) ? end : NULL, "?", text);
	printf("  %-9s ", text);
}

static void print(const json_t *list)
{
	json_t *p;
	size_t i;

	printf("  %4s  %7s  %-9s  %11s  %11s  %9s  %-9s  %s\n", "#", "PID", "made by", "started", "ended", "events", "end",
	       "command");
	json_array_foreach((json_t *)list, i, p) {
		printf("%c %4lld  %7lld", json_is_true(json_object_get(p, "default")) ? '*' : ' ',
		       (long long)out_int(p, "process"), (long long)out_int(p, "pid"));
		print_origin(p);
		print_time(p, "started_s");
		print_time(p, "ended_s");
		printf("  %9lld", (long long)out_int(p, "events"));
		print_end(json_object_get(p, "end"));
		text_argv(json_object_get(p, "argv"));
		putchar('\n');
	}
}

static int exec_ps(struct cli *cli, struct err *e)
{
	size_t first;
	cleanup_free char *dir = rec_arg(cli, 0, 0, &first, e);
	cleanup_free char *incomplete = NULL;
	json_auto_t *v = NULL;
	struct rec *rec;

	if (!dir || rec_open(dir, &rec, e))
		return -1;
	incomplete = rec_incomplete_text(rec);
	if (incomplete)
		out_note(cli, "%s", incomplete);
	if (!rec_verify_manifest(rec, e))
		v = json_pack("{s:o, s:o}", "recording", json_text(rec->dir, strlen(rec->dir)), "processes",
			      procs_json(rec));
	rec_free(rec);
	if (!v)
		return -1;
	if (cli->json)
		return out_json(v, e);
	print(json_object_get(v, "processes"));
	return 0;
}

const struct cli_command cmd_ps = {
	.name = "ps",
	.help = "list the processes of a recording",
	.usage = "[REC]",
	.exec = exec_ps,
	.max_args = 1,
	.word = WORD_REC,
};
