/* SPDX-License-Identifier: MIT */
/*
 * recorded_files_links.c: see recorded_files.h, recorded_files_link_all. A library has up to three names: the one by
 * which the dynamic linker opened it, the real path and, if the program opened it later, its DT_SONAME, as a link in
 * the same folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "debug/recorded_files.h"
#include "reclog/files.h"

#define DELETED " (deleted)"

/* Does the path lead out of the root? */
static bool leads_out(const char *path)
{
	int depth = 0;

	for (const char *p = path; *p && depth >= 0; p += strcspn(p, "/")) {
		size_t n = strcspn(p += strspn(p, "/"), "/");

		if (n == 2 && !strncmp(p, "..", 2))
			depth--;
		else if (n && !(n == 1 && *p == '.'))
			depth++;
	}
	return depth < 0;
}

/*
 * A link that cannot be made, such as one where a folder would be needed in place of a file, is left out: the debugger
 * tells what it does not find.
 */
static int link_at(const char *dir, const char *path, const char *copy, struct err *e)
{
	cleanup_free char *at = str_fmt("%s/%s", dir, path), *folder = path_dir(at);
	struct err ignored;

	if (path[0] != '/' || leads_out(path) || mkdir_p(folder, 0700, &ignored))
		return 0;
	if (symlink(copy, at) && errno != EEXIST)
		return err_errno(e, ERR_HOST, "link %s", at);
	return 0;
}

static char *soname_in(Elf *elf, Elf_Scn *scn)
{
	GElf_Shdr head;
	Elf_Data *data = gelf_getshdr(scn, &head) && head.sh_type == SHT_DYNAMIC ? elf_getdata(scn, NULL) : NULL;
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++)
		if (entry.d_tag == DT_SONAME) {
			const char *name = elf_strptr(elf, head.sh_link, entry.d_un.d_val);

			return name && *name && !strchr(name, '/') ? xstrdup(name) : NULL;
		}
	return NULL;
}

/* malloc'd; NULL: the file has none, or is no library. */
static char *soname_of(int fd)
{
	char *name = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return NULL;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !name; scn = elf_nextscn(elf, scn))
		name = soname_in(elf, scn);
	elf_end(elf);
	return name;
}

static int link_file(const char *files, const struct rec_file *f, const char *cwd, const char *dir, struct err *e)
{
	cleanup_free char *copy = path_join(files, f->copy), *real = xstrdup(f->real), *folder = NULL, *soname = NULL,
			  *link = NULL;
	cleanup_free char *named = f->path[0] && f->path[0] != '/' ? path_join(cwd, f->path) : xstrdup(f->path);
	cleanup_close int fd = open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (str_ends(real, DELETED))
		real[strlen(real) - strlen(DELETED)] = '\0';
	if (link_at(dir, named, copy, e) || link_at(dir, real, copy, e))
		return -1;
	soname = soname_of(fd);
	folder = path_dir(real);
	link = soname ? path_join(folder, soname) : NULL;
	return link ? link_at(dir, link, copy, e) : 0;
}

static int link_image(const struct rec *rec, uint32_t ordinal, const char *files, const char *dir, struct err *e)
{
	const struct rec_image *img = rec_image(rec, ordinal, e);
	struct rec_files l;
	int r = 0;

	if (!img || rec_files_read(rec, ordinal, &l, e))
		return -1;
	for (size_t i = 0; i < l.n && !r; i++)
		r = link_file(files, &l.f[i], img->cwd, dir, e);
	rec_files_fini(&l);
	return r;
}

int recorded_files_link_all(const struct rec *rec, const uint32_t *images, unsigned n, const char *dir, struct err *e)
{
	cleanup_free char *below = str_fmt("%s/files", rec->dir), *files = path_absolute(below);
	int r = files ? mkdir_p(dir, 0700, e) : err_errno(e, ERR_HOST, "%s", below);

	for (unsigned i = 0; i < n && !r; i++)
		r = link_image(rec, images[i], files, dir, e);
	return r;
}
