/* SPDX-License-Identifier: MIT */
/* cmd_info.c: fredctl info: what a recording is and what its logs consist of. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/paths.h"
#include "client/rec_arg.h"
#include "recfiles/shared_files.h"
#include "reclog/counts.h"
#include "reclog/frames.h"
#include "reclog/rec.h"
#include "reclog/sources.h"
#include "reclog/traps.h"

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
	json_array_foreach((json_t *)list, i, o) {
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
	printf("\n%12s  trapped (system calls that no wrapper saw), by caller\n", "calls");
	json_array_foreach((json_t *)list, i, o) {
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

	json_array_foreach((json_t *)list, i, t) {
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

/* Those that are not on the disk any more as they were, and how many there are. */
static void print_sources(const json_t *list)
{
	size_t i, kept = 0, others = 0;
	json_t *s;

	if (!json_array_size(list))
		return;
	json_array_foreach((json_t *)list, i, s)
		kept += json_is_true(json_object_get(s, "kept"));
	printf("\nsource files: %zu, %zu of them kept\n", json_array_size(list), kept);
	json_array_foreach((json_t *)list, i, s) {
		const char *state = out_str(s, "state", "");

		if (!str_eq(state, "same") && ++others <= TOP)
			printf("  %s  %s%s\n", out_str(s, "name", "?"), state,
			       json_is_true(json_object_get(s, "kept")) ? "" : ", not kept");
	}
	if (others > TOP)
		printf("  and %zu others that changed or are gone\n", others - TOP);
}

static void print_starts(const json_t *list)
{
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)list, i, s)
		printf("%-16s event %lld of process %lld: what was before is gone (--max-log)\n", "begins at",
		       (long long)out_int(s, "event"), (long long)out_int(s, "process"));
}

static void print_processes(const json_t *list)
{
	json_t *p;
	size_t i;

	puts("\nprocesses");
	json_array_foreach((json_t *)list, i, p) {
		printf("  %lld  PID %lld, %s, %lld events  %s\n", (long long)out_int(p, "process"),
		       (long long)out_int(p, "pid"), out_str(p, "origin", "?"),
		       (long long)out_int(p, "events"), out_str(p, "exe", ""));
		print_threads(json_object_get(p, "threads"));
	}
}

static void print(const json_t *info)
{
	static const char *const fields[] = {
		"recording", "program", "argv",	  "cwd",   "created", "ended",	"exit",
		"wall_s",    "sched",	"malloc", "max_log", "clock", "complete", "bytes", "shared_bytes",
	};
	const json_t *counts = json_object_get(info, "counts");

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		print_field(info, fields[i]);
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

/* What is in REC/checkpoints/ID/ckpt.json, by ID; one that is being made has no such file yet. */
static json_t *checkpoints(const char *rec)
{
	cleanup_free char *root = path_join(rec, "checkpoints");
	cleanup_closedir DIR *d = opendir(root);
	json_t *list = json_array();
	struct dirent *de;
	uint64_t id;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/ckpt.json", root, de->d_name);
		size_t at = json_array_size(list);
		struct err ignored;
		json_auto_t *c = NULL;

		if (str_u64(de->d_name, 10, 1, INT64_MAX, &id) || !(c = json_load_path(path, &ignored)))
			continue;
		while (at && out_int(json_array_get(list, at - 1), "id") > (json_int_t)id)
			at--;
		json_array_insert_new(list, at,
				      json_pack("{s:I, s:I, s:I, s:I}", "id", (json_int_t)id, "process",
						out_int(c, "process"), "event", out_int(c, "event"),
						"bytes", out_int(c, "bytes")));
	}
	return list;
}

/* What the logs take on the disk: parts of them are compressed. */
static unsigned long long log_disk_bytes(const struct rec *rec)
{
	unsigned long long sum = 0;

	for (unsigned i = 0; i < rec->nimages; i++)
		for (unsigned t = 0; t < rec->images[i].nthreads; t++) {
			cleanup_free char *log = rec_log_path(rec, rec->images[i].ordinal, rec->images[i].threads[t]);
			cleanup_free char *frames = frames_path(log);

			sum += path_disk_usage(log) + path_disk_usage(frames);
		}
	return sum;
}

/* Where the processes of a bounded recording begin. */
static json_t *make_starts(const struct rec *rec)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].start)
			json_array_append_new(list, json_pack("{s:i, s:I}", "process", (int)rec->images[i].ordinal, "event",
							      (json_int_t)rec->images[i].start->event));
	return list;
}

/* The list with the state of each file now: what can be said of it. */
static json_t *make_sources(const struct rec *rec)
{
	static const char *const states[] = {[SOURCE_SAME] = "same", [SOURCE_CHANGED] = "changed", [SOURCE_GONE] = "gone"};
	json_t *list = json_array();
	struct sources s;

	sources_init(&s, rec);
	for (size_t i = 0; i < s.n; i++)
		json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:b}", "name", s.v[i].name, "kept", s.v[i].bytes != 0,
						      "state", states[source_state(&s, &s.v[i])], "newer", s.v[i].newer));
	sources_fini(&s);
	return list;
}

static json_t *make_info(const struct rec *rec, struct err *e)
{
	json_t *counts = counts_json(rec, e), *traps = counts ? traps_json(rec, e) : NULL;
	json_auto_t *starts = make_starts(rec);
	unsigned long long own, shared;
	json_t *info;

	if (!traps) {
		json_decref(counts);
		return NULL;
	}
	info = json_deep_copy(rec->meta);
	json_object_del(info, "manifest");
	json_object_del(info, "crc32c");
	json_object_set_new(info, "recording", json_text(rec->dir, strlen(rec->dir)));
	json_object_set_new(info, "name",
			    json_text(path_base(rec->dir), strlen(path_base(rec->dir))));
	shared_files_usage(rec->dir, &own, &shared);
	json_object_set_new(info, "bytes", json_integer((json_int_t)own));
	json_object_set_new(info, "shared_bytes", json_integer((json_int_t)shared));
	json_object_set_new(info, "log_disk_bytes", json_integer((json_int_t)log_disk_bytes(rec)));
	if (json_object_get(info, "sources"))
		json_object_set_new(info, "sources", make_sources(rec));
	if (json_array_size(starts))
		json_object_set(info, "starts", starts);
	json_object_set_new(info, "counts", counts);
	json_object_set_new(info, "traps", traps);
	json_object_set_new(info, "checkpoints", checkpoints(rec->dir));
	return info;
}

static int exec_info(struct cli *cli, struct err *e)
{
	size_t first;
	cleanup_free char *dir = rec_arg(cli, 0, 0, &first, e);
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
