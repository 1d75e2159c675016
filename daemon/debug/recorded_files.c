/* SPDX-License-Identifier: MIT */
/* recorded_files.c: see recorded_files.h. */
#include "debug/recorded_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "reclog/files.h"

#define DELETED " (deleted)"

/* Of libraries that the dynamic linker opened in a dlopen, the recorder knows only the real names. */
static bool is_link_to(const char *path, const char *name, size_t len)
{
	cleanup_free char *real = realpath(path, NULL);

	return real && strlen(real) == len && !strncmp(real, name, len);
}

static bool is_named(const struct rec_file *f, const struct rec_image *img, const char *path)
{
	cleanup_free char *named = f->path[0] && f->path[0] != '/' ? path_join(img->cwd, f->path) : xstrdup(f->path);
	size_t len = strlen(f->real);

	if (str_ends(f->real, DELETED))
		len -= strlen(DELETED);
	return str_eq(named, path) || (strlen(path) == len && !strncmp(path, f->real, len)) ||
	       is_link_to(path, f->real, len);
}

static int open_copy(const struct rec *rec, const struct rec_file *f)
{
	cleanup_free char *copy = str_fmt("%s/files/%s", rec->dir, f->copy);
	int fd = open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int open_of_image(const struct rec *rec, uint32_t ordinal, const char *path)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, ordinal, &ignored);
	struct rec_files l;
	int r = -ENOENT;

	if (!img || rec_files_read(rec, ordinal, &l, &ignored))
		return r;
	for (size_t i = 0; i < l.n && r == -ENOENT; i++)
		if (is_named(&l.f[i], img, path))
			r = open_copy(rec, &l.f[i]);
	rec_files_fini(&l);
	return r;
}

int recorded_files_open(const struct rec *rec, const uint32_t *images, unsigned n, const char *path)
{
	int r = -ENOENT;

	for (unsigned i = 0; i < n && r == -ENOENT; i++)
		r = open_of_image(rec, images[i], path);
	return r;
}
