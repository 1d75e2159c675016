/* SPDX-License-Identifier: MIT */
/*
 * source_tree.c: see source_tree.h. A file that the compiler was given relative to a folder is found by GDB below that
 * folder, which `set substitute-path` replaces as a whole; one with an absolute name is replaced by itself. The tree
 * repeats all folders from the root on, so that names with .. lead to the same files.
 */
#include "frontend/source_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "recfiles/sources.h"
#include "reclog/sources.h"

#define COMPARE_S 0.2

struct made {
	const struct sources *s;
	const char *tree;
	struct strv *commands;
	struct strv folders; /* that have a rule */
};

/* The path as an argument of a GDB command, in double quotes. */
static char *quoted(const char *path)
{
	struct buf b = {0};

	for (; *path; path++)
		buf_addf(&b, "%s%c", *path == '\\' || *path == '"' ? "\\" : "", *path);
	return buf_steal(&b);
}

/* A command is a line: a folder with a newline in its name cannot be told. */
static void add_rule(struct made *m, const char *from)
{
	cleanup_free char *name = quoted(from);

	if (!strchr(from, '\n'))
		strv_addf(m->commands, "set substitute-path \"%s\" \"%s%s\"", name, m->tree, name);
}

/* Is it a folder with the system's headers? The recording does not list those, so GDB must find them where they are. */
static bool holds_system(const char *folder)
{
	return str_eq(folder, "") || str_eq(folder, "/") || str_eq(folder, "/usr");
}

static int add_folder(struct made *m, const char *dir, struct err *e)
{
	cleanup_free char *clean = path_clean(dir), *path = str_fmt("%s%s", m->tree, clean);

	if (holds_system(clean) || strv_has(&m->folders, dir))
		return 0;
	if (mkdir_p(path, 0700, e))
		return -1;
	strv_add(&m->folders, dir);
	add_rule(m, dir);
	return 0;
}

/* Writes the file with its former time, which GDB compares with the program's. */
static int write_copy(struct made *m, const struct source *f, const char *path, struct err *e)
{
	unsigned long long dev, ino, size, ns;
	cleanup_buf struct buf text = {0};
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};

	if (source_read(m->s, f, &text, e) || write_file(path, buf_str(&text), text.len, 0400, e))
		return -1;
	if (sscanf(f->stamp, "%llx-%llx-%llx-%llx", &dev, &ino, &size, &ns) == 4)
		times[1] = (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	return utimensat(AT_FDCWD, path, times, 0) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

/* Makes a copy or, if the file is unchanged, a link. */
static int place(struct made *m, const struct source *f, bool shown, struct err *e)
{
	cleanup_free char *path = str_fmt("%s%s", m->tree, f->name), *dir = path_dir(path);

	if (mkdir_p(dir, 0700, e))
		return -1;
	if (path_exists(path))
		return 0;
	if (shown)
		return write_copy(m, f, path, e);
	return symlink(f->name, path) && errno != EEXIST ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

static int make(struct made *m, const bool *shown, struct err *e)
{
	for (size_t i = 0; i < m->s->n; i++) {
		const struct source *f = &m->s->v[i];

		if (place(m, f, shown[i], e))
			return -1;
		if (!shown[i])
			continue;
		if (!*f->dir)
			add_rule(m, f->name);
		else if (add_folder(m, f->dir, e))
			return -1;
	}
	return 0;
}

/* For a recording that has no list of its sources. */
static void compare_times(struct sources *s)
{
	cleanup_strv struct strv names = {0};

	sources_newer(s->rec, COMPARE_S, &names);
	for (size_t i = 0; i < names.n; i++)
		sources_note(s, NOTE_RECENT, names.s[i]);
}

void source_tree_make(const char *dir, const char *tree, struct strv *commands, struct strv *notes)
{
	cleanup_free bool *shown = NULL;
	struct rec *rec;
	struct sources s;
	struct made m = {.s = &s, .tree = tree, .commands = commands};
	bool any = false;
	struct err e;

	if (!dir || rec_open(dir, &rec, &e))
		return;
	sources_init(&s, rec);
	shown = xcalloc(s.n + 1, sizeof(*shown));
	for (size_t i = 0; i < s.n; i++) {
		shown[i] = sources_use(&s, s.v[i].name, NULL);
		any |= shown[i];
	}
	if (!s.n)
		compare_times(&s);
	if (any && make(&m, shown, &e))
		strv_addf(notes, "warning: the recording's source files cannot be shown: %s", e.text);
	else
		sources_notes(&s, notes);
	strv_fini(&m.folders);
	sources_fini(&s);
	rec_free(rec);
}

void source_tree_remove(const char *tree)
{
	struct err ignored;

	rm_rf(tree, &ignored);
}
