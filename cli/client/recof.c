/* SPDX-License-Identifier: MIT */
/* recof.c: see recof.h. */
#include "client/recof.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/out.h"

/* As it was started: a path, or a name that the shell looked up. */
static bool is_of(const json_t *meta, const char *program)
{
	const char *started = out_str(meta, "program", "");
	cleanup_free char *path = path_join(out_str(meta, "cwd", "/"), started), *real = NULL;

	if (!strchr(started, '/'))
		return str_eq(started, path_base(program));
	if (started[0] == '/')
		str_set(&path, "%s", started);
	real = realpath(path, NULL);
	return str_eq(real ? real : path, program);
}

char *recof_program(const char *program, struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e), *real = realpath(program, NULL);
	cleanup_closedir DIR *d = all ? opendir(all) : NULL;
	cleanup_free char *when = xstrdup("");
	char *best = NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/meta.json", all, de->d_name);
		struct err ignored;
		json_auto_t *meta = de->d_name[0] == '.' ? NULL : json_load_path(path, &ignored);

		if (!meta || !is_of(meta, real ? real : program) || strcmp(out_str(meta, "created", ""), when) < 0)
			continue;
		str_set(&when, "%s", out_str(meta, "created", ""));
		free(best);
		best = path_join(all, de->d_name);
	}
	if (!best && all)
		err_set(e, ERR_USAGE, "there is no recording of %s: fredctl record -- %s", program, program);
	return best;
}
