/* SPDX-License-Identifier: MIT */
/* files.c: see files.h. */
#include "reclog/files.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"

static bool copy_name_ok(const char *s)
{
	return str_eq(s, RLOG_SHIM_NAME) || (*s && !s[strspn(s, "0123456789abcdef-")]);
}

static int check(const struct rec_file *f, const char *path, struct err *e)
{
	if (!copy_name_ok(f->copy))
		return err_set(e, ERR_USAGE, "%s: damaged: '%s' is not the name of a copy", path, f->copy);
	if (f->real[0] != '/')
		return err_set(e, ERR_USAGE, "%s: damaged: '%s' is not an absolute path", path, f->real);
	return 0;
}

/* Returns the next string; NULL if it has no end. */
static const char *next(char **p, const char *end)
{
	char *s = *p, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

static int parse(struct rec_files *l, char *p, const char *end, const char *path, struct err *e)
{
	struct rec_file f;
	const char *base;

	while ((f.copy = next(&p, end)) && (f.path = next(&p, end)) && (f.real = next(&p, end)) &&
	       (base = next(&p, end))) {
		if (str_u64(base, 16, 0, UINT64_MAX, &f.base))
			return err_set(e, ERR_USAGE, "%s: damaged: '%s' is not an address", path, base);
		/* the recorder had no /proc: the path of this file is not known */
		if (!f.real[0] && copy_name_ok(f.copy))
			continue;
		if (check(&f, path, e))
			return -1;
		l->f = xreallocarray(l->f, l->n + 1, sizeof(*l->f));
		l->f[l->n++] = f;
	}
	return 0;
}

int rec_files_read(const struct rec *r, uint32_t process, struct rec_files *out, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/p%04u/files", r->dir, process);
	cleanup_buf struct buf b = {0};
	size_t len;

	*out = (struct rec_files){0};
	if (access(path, F_OK))
		return 0;
	if (read_file(path, &b, e))
		return -1;
	len = b.len;
	out->text = buf_steal(&b);
	if (!len || !parse(out, out->text, out->text + len, path, e))
		return 0;
	rec_files_fini(out);
	return -1;
}

void rec_files_fini(struct rec_files *l)
{
	free(l->f);
	free(l->text);
	*l = (struct rec_files){0};
}
