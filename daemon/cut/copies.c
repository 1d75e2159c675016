/* SPDX-License-Identifier: MIT */
/*
 * copies.c: see copies.h. The copies are changed in place, since they are mounted in the root of the replay
 * (target/root.h).
 */
#include "cut/copies.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cut/excerpt.h"

#define PAGE CRIU_PAGE
#define MODE 0555 /* as the recorder makes them */

/* A copy of a file, and which of its pages are kept. */
struct cut_copy {
	char *name, *path;
	uint64_t inode, size, npages;
	uint8_t *stays; /* by page */
};

struct cut_copies {
	struct cut_copy *v;
	size_t n;
};

static void fini(struct cut_copies *l)
{
	for (size_t k = 0; k < l->n; k++) {
		free(l->v[k].name);
		free(l->v[k].path);
		free(l->v[k].stays);
	}
	free(l->v);
}

static int list(const char *dir, struct cut_copies *l, struct err *e)
{
	cleanup_free char *files = path_join(dir, "files");
	cleanup_closedir DIR *d = opendir(files);
	struct dirent *de;
	struct stat st;

	if (!d)
		return err_errno(e, ERR_HOST, "%s", files);
	while ((de = readdir(d))) {
		struct cut_copy c = {.name = xstrdup(de->d_name), .path = path_join(files, de->d_name)};

		if (*de->d_name == '.' || stat(c.path, &st) || !S_ISREG(st.st_mode)) {
			free(c.name);
			free(c.path);
			continue;
		}
		c.inode = st.st_ino;
		c.size = (uint64_t)st.st_size;
		c.npages = (c.size + PAGE - 1) / PAGE;
		c.stays = xcalloc(c.npages + 1, 1);
		l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
		l->v[l->n++] = c;
	}
	return 0;
}

static struct cut_copy *named(struct cut_copies *l, const char *name)
{
	for (size_t k = 0; name && k < l->n; k++)
		if (str_eq(l->v[k].name, name))
			return &l->v[k];
	return NULL;
}

/* Keeps the pages of bytes [from, to). */
static void stay(struct cut_copy *c, uint64_t from, uint64_t to)
{
	for (uint64_t p = from / PAGE; p < c->npages && p * PAGE < to; p++)
		c->stays[p] = 1;
}

/* ---- ELF: what is mapped only for the program ---- */

static bool is_only_run(const Elf64_Shdr *s, const char *name)
{
	return (s->sh_flags & SHF_ALLOC) && s->sh_type == SHT_PROGBITS && !str_starts(name, ".eh_frame") &&
	       !str_eq(name, ".gcc_except_table") && !str_eq(name, ".interp");
}

/* Pages that are wholly in sections of code and data are not needed by a debugger; all others are kept. */
static void stay_elf(struct cut_copy *c, const uint8_t *map)
{
	const Elf64_Ehdr *h = (const void *)map;
	const Elf64_Shdr *s = (const void *)(map + h->e_shoff), *names = s + h->e_shstrndx;
	cleanup_free uint8_t *runs = xcalloc(c->npages + 1, 1);

	if (h->e_shoff % 8 || h->e_shoff > c->size || !h->e_shnum || h->e_shstrndx >= h->e_shnum ||
	    h->e_shnum * sizeof(*s) > c->size - h->e_shoff || names->sh_offset > c->size ||
	    names->sh_size > c->size - names->sh_offset || !names->sh_size ||
	    map[names->sh_offset + names->sh_size - 1]) {
		stay(c, 0, c->size);
		return;
	}
	for (unsigned k = 0; k < h->e_shnum; k++) {
		if (s[k].sh_name >= names->sh_size || s[k].sh_offset > c->size ||
		    !is_only_run(&s[k], (const char *)map + names->sh_offset + s[k].sh_name))
			continue;
		for (uint64_t p = (s[k].sh_offset + PAGE - 1) / PAGE;
		     p < c->npages && (p + 1) * PAGE <= s[k].sh_offset + s[k].sh_size; p++)
			runs[p] = 1;
	}
	for (uint64_t p = 0; p < c->npages; p++)
		c->stays[p] |= !runs[p];
}

static int see_elf(struct cut_copy *c, struct err *e)
{
	cleanup_close int fd = open(c->path, O_RDONLY | O_CLOEXEC);
	void *map;

	if (fd < 0)
		return err_errno(e, ERR_HOST, "%s", c->path);
	if (c->size < sizeof(Elf64_Ehdr))
		return 0;
	map = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_errno(e, ERR_HOST, "%s", c->path);
	if (!memcmp(map, ELFMAG, SELFMAG))
		stay_elf(c, map);
	munmap(map, c->size);
	return 0;
}

/* ---- what the window needs ---- */

static void see_touched(struct cut_copy *c, const struct touched *x)
{
	for (uint64_t p = 0; p < c->npages; p++)
		c->stays[p] |= touched_needs_file(x, c->inode, p);
}

static int see_calls(struct cut_copies *l, struct timeline *tl, struct err *e)
{
	uint64_t first = timeline_base(tl) + 1;
	struct timeline_event ev;
	struct timeline_walk w;
	struct rlog_ref ref;
	int got;

	if (timeline_walk_init(&w, tl, first, e))
		return -1;
	while ((got = timeline_walk_next(&w, &ev, e)) == 1)
		if (ev.ev.has_result && rlog_is_ref(&ev.ev.result, &ref)) {
			cleanup_free char *name = excerpt_copy_name(&ref);
			struct cut_copy *c = named(l, name);

			if (c)
				stay(c, ref.offset, ref.offset + ev.ev.result.op[0]);
		}
	timeline_walk_fini(&w);
	return got < 0 ? -1 : 0;
}

static int punch(struct cut_copy *c, uint64_t *kept, struct err *e)
{
	static const uint8_t zero[PAGE];
	cleanup_close int fd = -1;

	if (chmod(c->path, 0600) || (fd = open(c->path, O_WRONLY | O_CLOEXEC)) < 0)
		return err_errno(e, ERR_HOST, "%s", c->path);
	for (uint64_t p = 0; p < c->npages; p++) {
		uint64_t at = p * PAGE, n = c->size - at < PAGE ? c->size - at : PAGE;

		if (c->stays[p])
			*kept += n;
		else if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n) &&
			 pwrite_full(fd, zero, n, (off_t)at))
			return err_errno(e, ERR_HOST, "%s", c->path);
	}
	return chmod(c->path, MODE) ? err_errno(e, ERR_HOST, "%s", c->path) : 0;
}

static int prune(struct cut_copies *l, const struct rec *excerpt, struct timeline *tl, const struct touched *x,
		 uint64_t *kept, uint64_t *all, struct err *e)
{
	struct cut_copy *shim, *sources;

	if (list(excerpt->dir, l, e) || see_calls(l, tl, e))
		return -1;
	shim = named(l, RLOG_SHIM_NAME);
	sources = named(l, json_string_value(json_object_get(json_object_get(excerpt->meta, "sources"), "copies")));
	for (size_t k = 0; k < l->n; k++) {
		struct cut_copy *c = &l->v[k];

		if (c == shim || c == sources)
			stay(c, 0, c->size);
		see_touched(c, x);
		if (see_elf(c, e) || punch(c, kept, e))
			return -1;
		*all += c->size;
	}
	return 0;
}

int copies_prune(const struct rec *excerpt, struct timeline *tl, const struct touched *x, uint64_t *kept, uint64_t *all,
		 struct err *e)
{
	struct cut_copies l = {0};
	int r;

	*kept = *all = 0;
	r = prune(&l, excerpt, tl, x, kept, all, e);
	fini(&l);
	return r;
}

int copies_restore(const char *excerpt, const struct rec *from, struct err *e)
{
	struct cut_copies l = {0};
	int r = list(excerpt, &l, e);

	for (size_t k = 0; k < l.n && !r; k++) {
		cleanup_free char *whole = str_fmt("%s/files/%s", from->dir, l.v[k].name);

		if (chmod(l.v[k].path, 0600))
			r = err_errno(e, ERR_HOST, "%s", l.v[k].path);
		else
			r = copy_file(whole, l.v[k].path, e);
	}
	fini(&l);
	return r;
}
