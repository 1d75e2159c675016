/* SPDX-License-Identifier: MIT */
/* cmd_ls.c: fredctl ls: the recordings in $FRED_HOME, oldest first. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/out_text.h"
#include "client/paths.h"
#include "recfiles/shared_files.h"

/* One recording as far as its meta.json can be read: a damaged one is listed too. */
static json_t *describe(const char *all, const char *name)
{
	cleanup_free char *dir = path_join(all, name);
	cleanup_free char *path = path_join(dir, "meta.json");
	struct err e;
	json_auto_t *meta = json_load_path(path, &e);
	unsigned long long own, shared;
	json_t *o;
	static const char *const keys[] = {"program", "argv",	"created", "ended", "exit",
					   "wall_s",  "sched", "malloc",  "complete", "max_log"};

	shared_files_usage(dir, &own, &shared);
	o = json_pack("{s:o, s:o, s:I, s:I}", "name", json_text(name, strlen(name)), "recording",
		      json_text(dir, strlen(dir)), "bytes", (json_int_t)own, "shared_bytes", (json_int_t)shared);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_get(meta, keys[i]))
			json_object_set(o, keys[i], json_object_get(meta, keys[i]));
	if (!json_is_object(meta))
		json_object_set_new(o, "damaged", json_text(e.text, strlen(e.text)));
	return o;
}

static int list(const char *all, json_t *out, struct err *e)
{
	cleanup_strv struct strv names = {0};
	cleanup_closedir DIR *d = opendir(all);
	struct dirent *de;

	if (!d)
		return err_errno(e, ERR_HOST, "%s", all);
	while ((de = readdir(d)))
		if (de->d_name[0] != '.')
			strv_add(&names, de->d_name);
	strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *meta = str_fmt("%s/%s/meta.json", all, names.s[i]);
		json_t *o;
		size_t at = json_array_size(out);

		if (!path_exists(meta))
			continue;
		o = describe(all, names.s[i]);
		while (at && strcmp(out_str(json_array_get(out, at - 1), "created", ""),
				    out_str(o, "created", "")) > 0)
			at--;
		json_array_insert_new(out, at, o);
	}
	return 0;
}

static void print(const json_t *recordings)
{
	char end[32], size[32];
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)recordings, i, o) {
		text_exit(json_object_get(o, "damaged") ? NULL : json_object_get(o, "exit"),
			  json_object_get(o, "damaged") ? "damaged" : "unfinished", end);
		printf("%-20s %.19s  %-10s %8.2f s %9s ", out_str(o, "name", "?"),
		       out_str(o, "created", "?"), end, out_real(o, "wall_s"),
		       out_bytes((unsigned long long)out_int(o, "bytes"), size));
		text_argv(json_object_get(o, "argv"));
		putchar('\n');
	}
}

static int exec_ls(struct cli *cli, struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e);
	json_auto_t *v = NULL;
	json_t *recordings = json_array();

	v = json_pack("{s:o}", "recordings", recordings);
	if (!all || list(all, recordings, e))
		return -1;
	if (cli->json)
		return out_json(v, e);
	print(recordings);
	return 0;
}

const struct cli_command cmd_ls = {
	.name = "ls",
	.help = "list the recordings",
	.usage = "",
	.exec = exec_ls,
};
