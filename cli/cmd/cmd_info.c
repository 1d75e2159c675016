/* SPDX-License-Identifier: MIT */
/* cmd_info.c: fredctl info: what a recording and its logs consist of; and fredctl ps: its processes. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/str.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "recfiles/info.h"
#include "reclog/procs.h"

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

static void print_kinds(const json_t *list)
{
	char size[32], data[32];
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("\n%12s  %9s  %9s  %s\n", "records", "in log", "data", "kind");
	json_array_foreach((json_t *)list, i, o)
		printf("%12lld  %9s  %9s  %s\n", (long long)out_int(o, "records"),
		       out_bytes((unsigned long long)out_int(o, "bytes"), size),
		       out_int(o, "data_bytes") ? out_bytes((unsigned long long)out_int(o, "data_bytes"), data) : "",
		       out_str(o, "name", "?"));
}

static void print_syscalls(const json_t *list)
{
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("\n%12s  %s\n", "calls", "system call");
	json_array_foreach((json_t *)list, i, o)
	{
		if (i == TOP) {
			printf("%12s  and %zu others\n", "", json_array_size(list) - TOP);
			break;
		}
		printf("%12lld  %s\n", (long long)out_int(o, "calls"), out_str(o, "name", "?"));
	}
}

static void print_traps(const json_t *traps)
{
	const json_t *list = json_object_get(traps, "callers");
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("\n%12s  trapped (system calls without a wrapper), by caller\n", "calls");
	json_array_foreach((json_t *)list, i, o)
	{
		const char *function = json_string_value(json_object_get(o, "function"));

		if (i == TOP) {
			printf("%12s  and %zu other callers\n", "", json_array_size(list) - TOP);
			break;
		}
		printf("%12lld  %s  %s+0x%llx", (long long)out_int(o, "calls"), out_str(o, "name", "?"),
		       out_str(o, "file", "address 0"), (unsigned long long)out_int(o, "offset"));
		if (function)
			printf(" (%s+0x%llx)", function, (unsigned long long)out_int(o, "function_offset"));
		putchar('\n');
	}
	printf("%12lld  in all\n", (long long)out_int(traps, "calls"));
}

static void print_threads(const json_t *list)
{
	char size[32];
	json_t *t;
	size_t i;

	json_array_foreach((json_t *)list, i, t)
	{
		if (i == TOP) {
			printf("    and %zu other threads\n", json_array_size(list) - TOP);
			break;
		}
		printf("    thread %lld, TID %lld: %lld events, %s\n", (long long)out_int(t, "thread"),
		       (long long)out_int(t, "tid"), (long long)out_int(t, "events"),
		       out_bytes((unsigned long long)out_int(t, "log_bytes"), size));
	}
}

static void print_checkpoints(const json_t *list)
{
	char size[32];
	json_t *c;
	size_t i;

	if (json_array_size(list))
		puts("\ncheckpoints");
	json_array_foreach((json_t *)list, i, c)
		printf("  ckpt:%lld  process %lld, event %lld, %s\n", (long long)out_int(c, "id"),
		       (long long)out_int(c, "process"), (long long)out_int(c, "event"),
		       out_bytes((unsigned long long)out_int(c, "bytes"), size));
}

static void print_notes(const json_t *list)
{
	json_t *note;
	size_t i;

	if (json_array_size(list))
		puts("\nnotes of the recorder");
	json_array_foreach((json_t *)list, i, note)
		printf("  %s\n", json_string_value(note) ? json_string_value(note) : "?");
}

/* The files that have changed on the disk or are gone, and the number of all. */
static void print_sources(const json_t *list)
{
	size_t i, kept = 0, others = 0;
	json_t *s;

	if (!json_array_size(list))
		return;
	json_array_foreach((json_t *)list, i, s) kept += json_is_true(json_object_get(s, "kept"));
	printf("\nsource files: %zu, %zu of them kept\n", json_array_size(list), kept);
	json_array_foreach((json_t *)list, i, s)
	{
		const char *state = out_str(s, "state", "");

		if (!str_eq(state, "same") && ++others <= TOP)
			printf("  %s  %s%s\n", out_str(s, "name", "?"), state,
			       json_is_true(json_object_get(s, "kept")) ? "" : ", not kept");
	}
	if (others > TOP)
		printf("  and %zu others that have changed or are missing\n", others - TOP);
}

static void print_window(const json_t *w)
{
	if (w)
		printf("%-16s events %lld to %lld of process %lld of a recording (pack --from), with the memory that "
		       "they "
		       "touch\n",
		       "window", (long long)out_int(w, "from"), (long long)out_int(w, "to"),
		       (long long)out_int(w, "process"));
}

static void print_starts(const json_t *list)
{
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)list, i, s)
		printf("%-16s event %lld of process %lld: earlier events were removed (--max-log)\n", "begins at",
		       (long long)out_int(s, "event"), (long long)out_int(s, "process"));
}

static void print_processes(const json_t *list)
{
	json_t *p;
	size_t i;

	puts("\nprocesses");
	json_array_foreach((json_t *)list, i, p)
	{
		printf("  %lld  PID %lld, %s, %lld events  %s\n", (long long)out_int(p, "process"),
		       (long long)out_int(p, "pid"), out_str(p, "origin", "?"), (long long)out_int(p, "events"),
		       out_str(p, "exe", ""));
		print_threads(json_object_get(p, "threads"));
	}
}

static void print_info(const json_t *info)
{
	static const char *const fields[] = {
		"recording", "program", "argv",	  "cwd",     "created", "ended",    "exit",  "wall_s",
		"sched",     "malloc",	"detect", "max_log", "clock",	"complete", "bytes", "shared_bytes",
	};
	const json_t *counts = json_object_get(info, "counts");

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		print_field(info, fields[i]);
	print_window(json_object_get(info, "window"));
	if (!json_object_get(info, "window"))
		print_starts(json_object_get(info, "starts"));
	print_field(json_object_get(info, "host"), "kernel");
	print_field(json_object_get(info, "host"), "cpu");
	print_field(counts, "events");
	print_field(counts, "log_bytes");
	print_field(info, "log_disk_bytes");
	print_field(counts, "data_bytes");
	print_field(counts, "kept_bytes");
	print_field(counts, "bytes_per_event");
	print_kinds(json_object_get(counts, "kinds"));
	print_syscalls(json_object_get(counts, "syscalls"));
	print_traps(json_object_get(info, "traps"));
	print_processes(json_object_get(counts, "processes"));
	print_checkpoints(json_object_get(info, "checkpoints"));
	print_sources(json_object_get(info, "sources"));
	print_notes(json_object_get(info, "notes"));
}

static int exec_info(struct cli *cli, struct err *e)
{
	struct rec *rec = rec_arg_open(cli, e);
	json_auto_t *info = rec ? info_json(rec, e) : NULL;

	rec_free(rec);
	if (!info)
		return -1;
	if (cli->json)
		return out_json(info, e);
	print_info(info);
	return 0;
}

const struct cli_command cmd_info = {
	.name = "info",
	.help = "show the parts of a recording",
	.usage = "[REC]",
	.exec = exec_info,
	.max_args = 1,
	.word = WORD_REC,
};

/* ---- ps ---- */

/* "exec 1": the kind of its origin, and the process that made it. */
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

static void print_ending(const json_t *end)
{
	char text[32];

	if (json_object_get(end, "exec"))
		snprintf(text, sizeof(text), "exec: %lld", (long long)out_int(end, "exec"));
	else
		text_exit(json_is_object(end) ? end : NULL, "?", text);
	printf("  %-9s ", text);
}

static void print_ps(const json_t *list)
{
	json_t *p;
	size_t i;

	printf("  %4s  %7s  %-9s  %11s  %11s  %9s  %-9s  %s\n", "#", "PID", "made by", "started", "ended", "events",
	       "end", "command");
	json_array_foreach((json_t *)list, i, p)
	{
		printf("%c %4lld  %7lld", json_is_true(json_object_get(p, "default")) ? '*' : ' ',
		       (long long)out_int(p, "process"), (long long)out_int(p, "pid"));
		print_origin(p);
		print_time(p, "started_s");
		print_time(p, "ended_s");
		printf("  %9lld", (long long)out_int(p, "events"));
		print_ending(json_object_get(p, "end"));
		text_argv(json_object_get(p, "argv"));
		putchar('\n');
	}
}

static int exec_ps(struct cli *cli, struct err *e)
{
	struct rec *rec = rec_arg_open(cli, e);
	json_auto_t *v = NULL;

	if (!rec)
		return -1;
	v = json_pack("{s:o, s:o}", "recording", json_text(rec->dir, strlen(rec->dir)), "processes", procs_json(rec));
	rec_free(rec);
	if (cli->json)
		return out_json(v, e);
	print_ps(json_object_get(v, "processes"));
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
