/* SPDX-License-Identifier: MIT */
/* objects.c: see objects.h. */
#include "target/objects.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"

#define DELETED " (deleted)"
#define PAGE 4096u

int objects_read(struct objects *o, const struct rec *rec, uint32_t process, struct err *e)
{
	*o = (struct objects){.dir = rec->dir};
	if (rec_files_read(rec, process, &o->files, e))
		return -1;
	o->f = xcalloc(o->files.n + 1, sizeof(*o->f));
	/* without the program, which has no path here, and files that were mapped later, whose addresses are in events
	 */
	for (size_t i = 0; i < o->files.n; i++)
		if (o->files.f[i].base && o->files.f[i].path[0])
			o->f[o->n++] = &o->files.f[i];
	return 0;
}

void objects_fini(struct objects *o)
{
	rec_files_fini(&o->files);
	free(o->f);
	*o = (struct objects){0};
}

static size_t plain_length(const char *path)
{
	size_t n = strlen(path);

	return str_ends(path, DELETED) ? n - strlen(DELETED) : n;
}

/* The path at which a replay has it (target/root.h). */
static char *copy_of(const struct objects *o, const struct rec_file *f)
{
	return str_fmt("%s/files/%s", o->dir, f->copy);
}

/* The same path in a tree (tree.c). */
static char *in_tree(const char *tree, const struct rec_file *f)
{
	cleanup_free char *clean = path_clean(f->real);

	clean[plain_length(clean)] = '\0';
	return str_fmt("%s%s", tree, clean);
}

static bool same_name(const char *path, const char *real)
{
	const char *a = path_base(path), *b = path_base(real);
	size_t n = plain_length(a);

	return n == plain_length(b) && !memcmp(a, b, n);
}

/* The address of its first page, from its headers: 0, except if it was linked for a fixed address. */
static uint64_t first_page(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0 || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return 0;
	for (unsigned i = 0; i < eh.e_phnum; i++)
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) == sizeof(ph) &&
		    ph.p_type == PT_LOAD)
			return ph.p_vaddr & ~(uint64_t)(PAGE - 1);
	return 0;
}

/* Where its mapping begins in this process: at `at`, if there is one; else the first one; 0: none. */
static uint64_t mapped_at(pid_t pid, const struct rec_file *f, uint64_t at)
{
	cleanup_maps struct maps m = {0};
	struct mapping v;
	struct err ignored;
	uint64_t lo = 0;

	if (maps_open(&m, pid, &ignored))
		return at; /* the process cannot be seen */
	while (lo != at && maps_next(&m, &v))
		if (v.inode && same_name(v.path, f->real) && (!lo || v.lo == at))
			lo = v.lo;
	return lo;
}

/* Compares all of them with one list of mappings; usually all are in place, unless a file was replaced. */
static unsigned count_in_place(const struct objects *o, pid_t pid)
{
	cleanup_maps struct maps m = {0};
	struct err ignored;
	struct mapping v;
	unsigned n = 0;

	if (maps_open(&m, pid, &ignored))
		return 0;
	while (maps_next(&m, &v))
		for (unsigned i = 0; i < o->n && v.inode; i++)
			n += v.lo == o->f[i]->base && same_name(v.path, o->f[i]->real);
	return n;
}

bool objects_moved(const struct objects *o, pid_t pid, const struct rec_file **which, uint64_t *now)
{
	if (count_in_place(o, pid) == o->n)
		return false;
	for (unsigned i = 0; i < o->n; i++) {
		cleanup_free char *path = copy_of(o, o->f[i]);
		uint64_t at = o->f[i]->base + first_page(path);

		*which = o->f[i];
		*now = mapped_at(pid, o->f[i], at);
		if (*now != at)
			return true;
	}
	return false;
}

struct launch_object *objects_places(const struct objects *o, const char *tree, unsigned *n)
{
	struct launch_object *v = xcalloc(o->n + 1, sizeof(*v));
	struct stat st;

	*n = 0;
	for (unsigned i = 0; i < o->n; i++) {
		cleanup_free char *copy = copy_of(o, o->f[i]), *there = tree[0] ? in_tree(tree, o->f[i]) : NULL;

		if (!stat(there ? there : copy, &st))
			v[(*n)++] = (struct launch_object){st.st_dev, st.st_ino, o->f[i]->base + first_page(copy)};
	}
	return v;
}
