/* SPDX-License-Identifier: MIT */
/* cmd_info.c: fredctl info: what a recording is and what its logs consist of. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/paths.h"
#include "cli/recarg.h"
#include "reclog/counts.h"
#include "reclog/rec.h"

#define TOP 10

static void print_field(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return;
	printf("%-16s ", key);
	if (json_is_string(v))
		fputs(json_string_value(v), stdout);
	else
		json_dumpf(v, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	putchar('\n');
}

static void print_top(const json_t *list, const char *title, const char *count)
{
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("\n%s\n", title);
	json_array_foreach((json_t *)list, i, o) {
		if (i == TOP)
			break;
		printf("  %12lld  %s\n", (long long)out_int(o, count), out_str(o, "name", "?"));
	}
}

static void print_processes(const json_t *list)
{
	json_t *p;
	size_t i;

	puts("\nprocesses");
	json_array_foreach((json_t *)list, i, p)
		printf("  %lld  PID %lld, %s, %zu threads, %lld events  %s\n",
		       (long long)out_int(p, "process"), (long long)out_int(p, "pid"),
		       out_str(p, "origin", "?"), json_array_size(json_object_get(p, "threads")),
		       (long long)out_int(p, "events"), out_str(p, "exe", ""));
}

static void print(const json_t *info)
{
	static const char *const fields[] = {
		"recording", "program", "argv",	  "cwd",   "created", "ended",	"exit",
		"wall_s",    "sched",	"malloc", "clock", "complete", "bytes", "host",
	};
	const json_t *counts = json_object_get(info, "counts");

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		print_field(info, fields[i]);
	print_field(counts, "events");
	print_field(counts, "log_bytes");
	print_field(counts, "bytes_per_event");
	print_top(json_object_get(counts, "kinds"), "records by kind", "records");
	print_top(json_object_get(counts, "syscalls"), "system calls", "calls");
	print_processes(json_object_get(counts, "processes"));
}

static json_t *make_info(const struct rec *rec, struct err *e)
{
	json_t *counts = counts_json(rec, e);
	json_t *info;

	if (!counts)
		return NULL;
	info = json_deep_copy(rec->meta);
	json_object_del(info, "manifest");
	json_object_set_new(info, "recording", json_text(rec->dir, strlen(rec->dir)));
	json_object_set_new(info, "name",
			    json_text(path_base(rec->dir), strlen(path_base(rec->dir))));
	json_object_set_new(info, "bytes", json_integer((json_int_t)path_disk_usage(rec->dir)));
	json_object_set_new(info, "counts", counts);
	return info;
}

static int exec_info(struct cli *cli, struct err *e)
{
	size_t first;
	cleanup_free char *dir = recarg(cli, 0, 0, &first, e);
	cleanup_free char *incomplete = NULL;
	json_auto_t *info = NULL;
	struct rec *rec;

	if (!dir || rec_open(dir, &rec, e))
		return -1;
	incomplete = rec_incomplete_text(rec);
	if (incomplete)
		out_note(cli, "%s", incomplete);
	if (!rec_verify_manifest(rec, e))
		info = make_info(rec, e);
	rec_free(rec);
	if (!info)
		return -1;
	if (cli->json)
		return out_json(info, e);
	print(info);
	return 0;
}

const struct cli_command cmd_info = {
	.name = "info",
	.help = "show what a recording is made of",
	.usage = "[REC]",
	.exec = exec_info,
	.max_args = 1,
	.word = WORD_REC,
};
