/* SPDX-License-Identifier: MIT */
/*
 * tree.c: see tree.h. Names come from the recording, which may be anybody's: they are cleaned of "..", and no link in a
 * tree leads out of it.
 */
#include "target/tree.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "gdb/gdb.h"
#include "reclog/files.h"

#define DELETED " (deleted)"
#define SCRIPT_BYTES 256u /* how much of a script the kernel reads */
#define SCRIPTS 5u /* how many scripts may be interpreters of each other */

static char *copy_path(const struct rec *rec, const struct rec_file *f)
{
	return str_fmt("%s/files/%s", rec->dir, f->copy);
}

static char *in_tree(const char *own, const struct rec_image *img, const char *path)
{
	cleanup_free char *whole = path[0] == '/' ? xstrdup(path) : str_fmt("/%s/%s", img->cwd, path);
	cleanup_free char *clean = path_clean(whole);

	return str_fmt("%s%s", own, clean);
}

static char *real_in_tree(const char *own, const struct rec_image *img, const struct rec_file *f)
{
	cleanup_free char *real = xstrdup(f->real);

	if (str_ends(real, DELETED))
		real[strlen(real) - strlen(DELETED)] = '\0';
	return in_tree(own, img, real);
}

static int make_parent(const char *path, struct err *e)
{
	cleanup_free char *dir = path_dir(path);

	return mkdir_p(dir, 0755, e);
}

/* Copies a file. One that is already there stays. */
static int place_copy(const char *from, const char *to, struct err *e)
{
	struct stat st;

	if (path_exists(to))
		return 0;
	if (lstat(from, &st) || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s: a file of the recording is missing", from);
	if (make_parent(to, e) || copy_file(from, to, e))
		return -1;
	return chmod(to, 0755) ? err_errno(e, ERR_HOST, "%s", to) : 0;
}

static int place(const char *own, const struct rec *rec, const struct rec_image *img, const struct rec_file *f,
		 struct err *e)
{
	cleanup_free char *from = copy_path(rec, f), *to = real_in_tree(own, img, f);
	cleanup_free char *named = f->path[0] ? in_tree(own, img, f->path) : NULL;

	if (place_copy(from, to, e))
		return -1;
	if (!named || path_exists(named))
		return 0;
	if (make_parent(named, e))
		return -1;
	return symlink(to, named) && errno != EEXIST ? err_errno(e, ERR_HOST, "link %s", named) : 0;
}

static int place_image(const char *own, const struct rec *rec, uint32_t process, struct err *e)
{
	const struct rec_image *img = rec_image(rec, process, e);
	struct rec_files l;
	int r = 0;

	if (!img || rec_files_read(rec, process, &l, e))
		return -1;
	for (size_t i = 0; i < l.n && !r; i++)
		r = place(own, rec, img, &l.f[i], e);
	rec_files_fini(&l);
	return r;
}

/* ---- how it is executed ---- */

static char *start_dir(const char *own)
{
	return str_fmt("%s" GDB_TREE, own);
}

/* A name as long as the recorded one. No part of it may be longer than a file's name can be. */
static char *start_name(const char *recorded)
{
	size_t n = strlen(recorded), at = 0;
	char *s = xmalloc(n + 1);

	memset(s, 'x', n);
	s[n] = '\0';
	for (; n - at > NAME_MAX; at += 2)
		memcpy(s + at, "./", 2);
	return s;
}

/* Where a program's header names its dynamic linker. */
struct linker_name {
	char *name; /* malloc'd; NULL: it has none */
	uint64_t at, headers; /* of the name, and of its program headers: addresses of the file */
	off_t offset;
};

static bool read_header(int fd, const Elf64_Ehdr *eh, unsigned i, Elf64_Phdr *ph)
{
	return pread_full(fd, ph, sizeof(*ph), (off_t)(eh->e_phoff + i * sizeof(*ph))) == sizeof(*ph);
}

static void find_linker(int fd, const Elf64_Ehdr *eh, struct linker_name *l)
{
	Elf64_Phdr ph;

	l->headers = eh->e_phoff;
	for (unsigned i = 0; i < eh->e_phnum && read_header(fd, eh, i, &ph); i++) {
		if (ph.p_type == PT_LOAD && eh->e_phoff - ph.p_offset < ph.p_filesz)
			l->headers = eh->e_phoff - ph.p_offset + ph.p_vaddr;
		if (ph.p_type != PT_INTERP || l->name || ph.p_filesz < sizeof(LAUNCH_LINKER) || ph.p_filesz >= PATH_MAX)
			continue;
		l->at = ph.p_vaddr;
		l->offset = (off_t)ph.p_offset;
		l->name = xcalloc(1, ph.p_filesz + 1);
		if (pread_full(fd, l->name, ph.p_filesz, l->offset) < 0)
			l->name[0] = '\0';
	}
}

/* Reads it from the recording's copy. */
static int linker_of(const char *copy, struct linker_name *l, struct err *e)
{
	cleanup_close int fd = open(copy, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	Elf64_Ehdr eh;

	*l = (struct linker_name){0};
	if (fd < 0)
		return err_errno(e, ERR_USAGE, "%s", copy);
	if (pread_full(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return err_set(e, ERR_USAGE, "%s: the program is not an ELF file", copy);
	find_linker(fd, &eh, l);
	return 0;
}

/* The copy of the program names the link in its folder instead. */
static int lead_to_linker(const char *program, off_t offset, struct err *e)
{
	cleanup_close int fd = open(program, O_WRONLY | O_CLOEXEC);

	return fd < 0 || pwrite_full(fd, LAUNCH_LINKER, sizeof(LAUNCH_LINKER), offset)
		       ? err_errno(e, ERR_HOST, "%s", program)
		       : 0;
}

static int link_in(const char *dir, const char *name, const char *to, struct err *e)
{
	cleanup_free char *path = path_join(dir, name);

	return symlink(to, path) ? err_errno(e, ERR_HOST, "link %s", path) : 0;
}

static int make_start(const char *own, const struct rec *rec, const struct rec_image *img, const struct rec_file *f,
		      struct err *e)
{
	cleanup_free char *dir = start_dir(own), *name = start_name(img->execfn), *copy = copy_path(rec, f);
	cleanup_free char *program = real_in_tree(own, img, f), *cwd = in_tree(own, img, img->cwd);
	cleanup_free char *linker = NULL, *to = NULL;
	struct linker_name l;

	if (mkdir_p(dir, 0755, e) || mkdir_p(cwd, 0755, e) || link_in(dir, path_base(name), program, e) ||
	    link_in(dir, LAUNCH_CWD, cwd, e))
		return -1;
	if (linker_of(copy, &l, e))
		return -1;
	if (!l.name)
		return 0;
	linker = l.name;
	to = in_tree(own, img, linker);
	return link_in(dir, LAUNCH_LINKER, to, e) || lead_to_linker(program, l.offset, e) ? -1 : 0;
}

/* A program must be executable there. */
static int check_mount(const char *own, struct err *e)
{
	struct statvfs s;

	return !statvfs(own, &s) && s.f_flag & ST_NOEXEC
		       ? err_set(e, ERR_HOST,
				 "%s is on a file system without the right to execute (noexec), and without namespaces "
				 "the recording's copies of the program have to be there",
				 own)
		       : 0;
}

/* For GDB, which puts the tree before the real names of files, also of files in it. */
static int link_itself(const char *own, struct err *e)
{
	cleanup_free char *path = str_fmt("%s%s", own, own);

	return make_parent(path, e) || symlink(own, path) ? err_errno(e, ERR_HOST, "link %s", path) : 0;
}

int tree_make(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, const char *own,
	      struct err *e)
{
	cleanup_free char *dir = start_dir(own);
	struct rec_files l;
	int r;

	if (rm_rf(own, e) || rm_rf(dir, e) || mkdir_p(own, 0755, e) || check_mount(own, e) || link_itself(own, e) ||
	    place_image(own, rec, img->ordinal, e))
		return -1;
	for (; *follow; follow++)
		if (place_image(own, rec, *follow, e))
			return -1;
	if (rec_files_read(rec, img->ordinal, &l, e))
		return -1;
	r = l.n ? make_start(own, rec, img, &l.f[0], e)
		: err_set(e, ERR_USAGE, "%s: process %u has no copy of its program", rec->dir, img->ordinal);
	rec_files_fini(&l);
	return r;
}

/* ---- scripts ---- */

/* Reads "#!INTERPRETER ARGUMENT" as the kernel does. false: it is not a script. */
static bool script_line(const char *path, char line[SCRIPT_BYTES + 1], char **interpreter, char **argument)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read_full(fd, line, SCRIPT_BYTES);
	char *end;

	if (n < 3 || memcmp(line, "#!", 2))
		return false;
	line[n] = '\0';
	end = line + strcspn(line, "\n");
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	*interpreter = line + 2 + strspn(line + 2, " \t");
	*argument = *interpreter + strcspn(*interpreter, " \t");
	if (**argument)
		*(*argument)++ = '\0';
	*argument += strspn(*argument, " \t");
	return **interpreter;
}

static const struct rec_file *file_named(const struct rec_files *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->f[i].path[0] && str_eq(l->f[i].path, path))
			return &l->f[i];
	return NULL;
}

/* Adds the arguments with which the kernel executes the file `name`; they replace the first of argv. */
static void add_arguments(struct strv *out, const struct rec *rec, const struct rec_files *l, const char *name,
			  char *const *argv, unsigned depth)
{
	const struct rec_file *f = depth < SCRIPTS ? file_named(l, name) : NULL;
	cleanup_free char *copy = f ? copy_path(rec, f) : NULL;
	cleanup_strv struct strv inner = {0};
	char line[SCRIPT_BYTES + 1], *interpreter, *argument;

	if (!copy || !script_line(copy, line, &interpreter, &argument)) {
		strv_add_all(out, (const char *const *)argv);
		return;
	}
	strv_add(&inner, interpreter);
	if (*argument)
		strv_add(&inner, argument);
	strv_add(&inner, name);
	if (argv[0])
		strv_add_all(&inner, (const char *const *)argv + 1);
	add_arguments(out, rec, l, interpreter, inner.s, depth + 1);
}

static struct launch_identity *identities(const struct rec *rec, const struct rec_image *img, const struct rec_files *l,
					  const char *own, unsigned *n)
{
	struct launch_identity *v = xcalloc(l->n + 1, sizeof(*v));

	*n = 0;
	for (size_t i = 0; i < l->n; i++) {
		cleanup_free char *copy = copy_path(rec, &l->f[i]), *here = real_in_tree(own, img, &l->f[i]);
		struct stat a, b;

		if (!stat(here, &a) && !stat(copy, &b))
			v[(*n)++] = (struct launch_identity){a.st_dev, a.st_ino, b.st_dev, b.st_ino};
	}
	return v;
}

static int fill_start(struct tree_start *s, const struct rec *rec, const struct rec_image *img,
		      const struct rec_files *l, const char *own, struct err *e)
{
	cleanup_free char *copy = copy_path(rec, &l->f[0]);
	struct linker_name linker;

	if (linker_of(copy, &linker, e))
		return -1;
	s->linker = linker.name;
	s->dir = start_dir(own);
	s->name = start_name(img->execfn);
	s->shown = identities(rec, img, l, own, &s->files.nshown);
	add_arguments(&s->argv, rec, l, img->execfn, img->argv, 0);
	s->files.root = own;
	s->files.dir = s->dir;
	s->files.name = s->name;
	s->files.shown = s->shown;
	s->files.linker = s->linker;
	s->files.linker_at = linker.at;
	s->files.headers_at = linker.headers;
	return 0;
}

int tree_start_init(struct tree_start *s, const struct rec *rec, const struct rec_image *img, const char *own,
		    struct err *e)
{
	struct rec_files l;
	int r;

	*s = (struct tree_start){0};
	if (rec_files_read(rec, img->ordinal, &l, e))
		return -1;
	r = l.n ? fill_start(s, rec, img, &l, own, e)
		: err_set(e, ERR_USAGE, "%s: process %u has no copy of its program", rec->dir, img->ordinal);
	rec_files_fini(&l);
	return r;
}

void tree_start_fini(struct tree_start *s)
{
	strv_fini(&s->argv);
	free(s->shown);
	free(s->dir);
	free(s->name);
	free(s->linker);
	*s = (struct tree_start){0};
}
