/* SPDX-License-Identifier: MIT */
/* program.c: see program.h. */
#include "target/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cell/plain.h"
#include "reclog/files.h"
#include "rlog/replay.h"
#include "target/root.h"

/*
 * FRED=r:NNNN:DIR becomes FRED=p:ROOT:/run/fred/rec////, of the same length, since that determines where the stack is.
 */
static char *replay_env(const char *recorded, uint32_t root, struct err *e)
{
	size_t len = strlen(recorded);
	char *s = xmalloc(len + 64);
	cleanup_free char *rec = root_rec();
	int n = snprintf(s, len + 64, "FRED=p:%04u:%s", root, rec);

	if ((size_t)n > len) {
		free(s);
		err_set(e, ERR_USAGE,
			"the path of the folder that it was recorded into is too short for a replay (%zu bytes are "
			"needed): record again, with a longer one (-o)",
			(size_t)n);
		return NULL;
	}
	memset(s + n, '/', len - (size_t)n);
	s[len] = '\0';
	return s;
}

int program_env(const struct rec_image *img, struct strv *env, struct err *e)
{
	for (char **v = img->envp; *v; v++) {
		cleanup_free char *ours = NULL;

		if (!str_starts(*v, "FRED=")) {
			strv_add(env, *v);
			continue;
		}
		ours = replay_env(*v, img->ordinal, e);
		if (!ours)
			return -1;
		strv_add(env, ours);
	}
	return 0;
}

/*
 * If a program has no path (it is in a memfd), or its path leads into a folder that is no longer visible: the recorded
 * file.
 */
static char *path_of_copy(const struct rec *rec, const struct rec_image *img, const char *root, struct err *e)
{
	cleanup_free char *real = str_fmt("%s%s", root, img->exe), *rec_dir = root_rec();
	struct rec_files l;
	char *path;
	struct stat st;

	if (!stat(real, &st) && S_ISREG(st.st_mode))
		return xstrdup(img->exe);
	if (rec_files_read(rec, img->ordinal, &l, e))
		return NULL;
	path = l.n ? str_fmt("%s/files/%s", rec_dir, l.f[0].copy) : xstrdup(img->exe);
	rec_files_fini(&l);
	return path;
}

int program_path(const struct rec *rec, const struct rec_image *img, const char *root, char **path, struct err *e)
{
	/* a folder of the cell's own; with a longer name, /dev/fd/3 would have no room */
	static const char dir[] = "/run/";
	size_t n = strlen(img->execfn);
	cleanup_free char *program = NULL;

	*path = xstrdup(img->execfn);
	if (!str_starts(img->execfn, "/proc/") && !str_starts(img->execfn, "/dev/fd/"))
		return 0;
	if (cell_is_plain())
		return 0; /* the tree has it (tree.h) */
	program = path_of_copy(rec, img, root, e);
	if (!program)
		return -1;
	if (n <= strlen(dir) || n - strlen(dir) > NAME_MAX) {
		str_set(path, "%s", program);
		return 0;
	}
	memset(*path, 'x', n);
	memcpy(*path, dir, strlen(dir));
	return root_link(root, *path, program, e);
}
