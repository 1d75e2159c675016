/* SPDX-License-Identifier: MIT */
/* proc.c: see proc.h. */
#include "debug/proc.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "reclog/files.h"
#include "reclog/procs.h"
#include "rlog/replay.h"
#include "rsp/packet.h"

static int read_of(struct debug *d, const char *name, struct buf *out, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)cursor_memory(&d->cursor), name);
	return read_file(path, out, e);
}

/* Is it a mapping of the recorder's or the replay's own? */
static bool is_ours(const char *line)
{
	unsigned long long first;

	return sscanf(line, "%llx-", &first) == 1 && shim_owns(first);
}

/* The original path of the file of which this is the recording's copy; NULL: it is no copy. */
static const char *real_name(const struct rec_files *l, const char *name)
{
	const char *file = strrchr(name, '/');

	for (size_t i = 0; file && file - name >= 6 && !strncmp(file - 6, "/files", 6) && i < l->n; i++)
		if (str_eq(l->f[i].copy, file + 1))
			return l->f[i].real;
	return NULL;
}

static void add_line(const char *line, const char *root, const struct rec_files *l, struct buf *out)
{
	const char *name = strchr(line, '/'), *real = name ? real_name(l, name) : NULL;
	size_t skip = strlen(root);

	if (!name)
		name = line + strlen(line);
	buf_addf(out, "%.*s%s\n", (int)(name - line), line,
		 real ? real : name + (!strncmp(name, root, skip) ? skip : 0));
}

/* Shows files by the names that the program knew, not by those in a replay's root or of the recording's copies. */
static int add_maps(struct debug *d, struct buf *out, struct err *e)
{
	cleanup_buf struct buf text = {0};
	cleanup_strv struct strv lines = {0};
	struct rec_files files;

	if (read_of(d, "maps", &text, e) || rec_files_read(d->rec, d->nav.t.root, &files, e))
		return -1;
	strv_split(&lines, buf_str(&text), "\n");
	for (size_t i = 0; i < lines.n; i++)
		if (!is_ours(lines.s[i]))
			add_line(lines.s[i], d->nav.t.own_root, &files, out);
	rec_files_fini(&files);
	return 0;
}

static int add_pid(struct debug *d, struct buf *out, struct err *e)
{
	const struct rec_image *own = rec_image(d->rec, d->process, e);

	if (!own)
		return -1;
	buf_addf(out, "%d\n", (int)rec_image_pid(own));
	return 0;
}

static int add_auxv(struct debug *d, struct buf *out, struct err *e)
{
	cleanup_buf struct buf data = {0};

	if (read_of(d, "auxv", &data, e))
		return -1;
	rsp_hex(out, data.data, data.len);
	buf_add_char(out, '\n');
	return 0;
}

static int add_image(struct debug *d, const char *what, struct buf *out, struct err *e)
{
	const struct rec_image *own = rec_image(d->rec, d->process, e),
			       *root = own ? rec_image(d->rec, d->nav.t.root, e) : NULL;

	if (!root)
		return -1;
	if (str_eq(what, "exe") || str_eq(what, "cwd")) {
		buf_addf(out, "%s\n", str_eq(what, "exe") ? root->exe : root->cwd);
		return 0;
	}
	for (char *const *arg = procs_argv(d->rec, own); *arg; arg++)
		buf_addf(out, "%s%s", out->len ? " " : "", *arg);
	buf_add_char(out, '\n');
	return 0;
}

int proc_tell(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	if (str_eq(args, "maps"))
		return add_maps(d, out, e);
	if (str_eq(args, "pid"))
		return add_pid(d, out, e);
	if (str_eq(args, "process")) {
		buf_addf(out, "%u\n", d->process);
		return 0;
	}
	if (str_eq(args, "auxv"))
		return add_auxv(d, out, e);
	if (str_eq(args, "exe") || str_eq(args, "cwd") || str_eq(args, "cmdline"))
		return add_image(d, args, out, e);
	return err_set(e, ERR_USAGE, "proc: maps, pid, process, auxv, exe, cwd or cmdline");
}
