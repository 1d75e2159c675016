/* SPDX-License-Identifier: MIT */
/*
 * root.c: see root.h. Paths come from the recording, which may be anybody's: below the root all of them are resolved by
 * openat2 with RESOLVE_IN_ROOT, so that neither .. nor a symbolic link leads out of it.
 */
#define LOG_DOMAIN "root"
#include "replay/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "reclog/files.h"
#include "rlog/replay.h"

#define ROOT_DIR "/run/fred-root"
#define DELETED " (deleted)"

static char *copy_path(const struct rec *rec, const struct rec_file *f)
{
	return str_fmt("%s/files/%s", rec->dir, f->copy);
}

static char *absolute(const char *path, const struct rec_image *img)
{
	return path[0] == '/' ? xstrdup(path) : path_join(img->cwd, path);
}

/* ---- is the host's file the same? ---- */

/* The name that the recorder would give to a copy of it: "DEV-INO-SIZE-MTIMENS". */
static bool same_stat(const char *path, const char *copy)
{
	char name[128];
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	snprintf(name, sizeof(name), "%lx-%lx-%lx-%llx", (unsigned long)st.st_dev, (unsigned long)st.st_ino,
		 (unsigned long)st.st_size,
		 (unsigned long long)st.st_mtim.tv_sec * 1000000000ull + (unsigned long long)st.st_mtim.tv_nsec);
	return str_eq(name, copy);
}

static bool same_on_host(const struct rec *rec, const struct rec_image *img, const struct rec_file *f)
{
	cleanup_free char *path = absolute(f->path[0] ? f->path : f->real, img), *copy = copy_path(rec, f);
	cleanup_free char *real = realpath(path, NULL);

	return real && str_eq(real, f->real) && (same_stat(real, f->copy) || same_bytes(real, copy));
}

/* The first file that is gone or changed; NULL: none is. */
static const struct rec_file *changed(const struct rec *rec, const struct rec_image *img, const struct rec_files *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!str_eq(l->f[i].copy, RLOG_SHIM_NAME) && !same_on_host(rec, img, &l->f[i]))
			return &l->f[i];
	return NULL;
}

/* ---- a root of its own ---- */

static int open_in_root(int root, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC,
			       .mode = (flags & O_CREAT) ? 0600 : 0,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Makes the folders above what path ends in (or path itself, too); gives the last one. -1, errno. */
static int make_dirs(int root, const char *path, bool whole)
{
	cleanup_free char *p = xstrdup(path);
	int dir = open_in_root(root, "/", O_PATH | O_DIRECTORY);

	for (char *s = p + strspn(p, "/"); dir >= 0 && *s;) {
		char *slash = s + strcspn(s, "/"), was = *slash;
		int next;

		if (!was && !whole)
			break;
		*slash = '\0';
		next = open_in_root(root, p, O_PATH | O_DIRECTORY);
		if (next < 0 && errno == ENOENT && !mkdirat(dir, s, 0755))
			next = open_in_root(root, p, O_PATH | O_DIRECTORY);
		close(dir);
		dir = next;
		*slash = was;
		s = slash + strspn(slash, "/");
	}
	return dir;
}

static int bind_at(const char *src, int fd, unsigned long flags, struct err *e)
{
	char dst[64];

	snprintf(dst, sizeof(dst), "/proc/self/fd/%d", fd);
	if (mount(src, dst, NULL, MS_BIND | flags, NULL))
		return err_errno(e, ERR_HOST, "cannot mount %s in the root of a replay", src);
	return 0;
}

static int place_dir(int root, const char *src, const char *path, struct err *e)
{
	cleanup_close int dir = make_dirs(root, path, true);

	if (dir < 0)
		return err_errno(e, ERR_HOST, "cannot make %s in the root of a replay", path);
	return bind_at(src, dir, MS_REC, e);
}

/* A copy at its real place. What is already there stays. */
static int place_file(int root, const char *src, const char *path, struct err *e)
{
	cleanup_close int dir = make_dirs(root, path, false), fd = -1;
	struct stat st;

	fd = dir < 0 ? -1 : open_in_root(root, path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	if (fd < 0 && dir >= 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_errno(e, ERR_USAGE, "cannot make %s in the root of a replay", path);
	if (lstat(src, &st) || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s: a file of the recording is missing", src);
	return bind_at(src, fd, 0, e);
}

/* The name that the program used for it, if that is another. */
static int place_link(int root, const char *real, const char *path, struct err *e)
{
	cleanup_close int dir = make_dirs(root, path, false), there = -1;

	there = dir < 0 ? -1 : open_in_root(root, path, O_PATH);
	/* in /proc the name is there, but leads elsewhere: exec_path (target.c) sees to that */
	if (there >= 0 || (dir >= 0 && (!symlinkat(real, dir, path_base(path)) || errno == EEXIST)))
		return 0;
	return err_errno(e, ERR_USAGE, "cannot make %s in the root of a replay", path);
}

static int place(int root, const struct rec *rec, const struct rec_image *img, const struct rec_file *f, struct err *e)
{
	cleanup_free char *src = copy_path(rec, f), *real = xstrdup(f->real);
	cleanup_free char *path = f->path[0] ? absolute(f->path, img) : xstrdup(f->real);

	if (str_ends(real, DELETED)) {
		real[strlen(real) - strlen(DELETED)] = '\0';
		if (!f->path[0])
			str_set(&path, "%s", real);
	}
	return place_file(root, src, real, e) || place_link(root, real, path, e) ? -1 : 0;
}

static int place_all(int root, const struct rec *rec, const struct rec_image *img, const struct rec_files *l,
		     struct err *e)
{
	for (size_t i = 0; i < l->n; i++)
		if (place(root, rec, img, &l->f[i], e))
			return -1;
	return 0;
}

/* What a replay needs beside the program's files; and a way for GDB, which puts the root before /proc/PID/exe. */
static int furnish(int root, const char *own, const struct rec_image *img, struct err *e)
{
	cleanup_close int cwd = make_dirs(root, img->cwd[0] ? img->cwd : "/", true), run = -1;

	if (cwd < 0)
		return err_errno(e, ERR_USAGE, "cannot make %s in the root of a replay", img->cwd);
	if (place_dir(root, "/proc", "/proc", e) || place_dir(root, REPLAY_DIR, REPLAY_DIR, e))
		return -1;
	run = make_dirs(root, "/run", true);
	if (run < 0 || (symlinkat("..", run, path_base(own)) && errno != EEXIST))
		return err_errno(e, ERR_HOST, "cannot make a link in the root of a replay");
	return 0;
}

static int build(const struct rec *rec, const struct rec_image *img, const struct rec_files *l, const uint32_t *follow,
		 const char *own, struct err *e)
{
	bool fresh = !mkdir(own, 0755);
	cleanup_close int root = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_errno(e, ERR_HOST, "%s", own);
	if ((fresh && furnish(root, own, img, e)) || place_all(root, rec, img, l, e))
		return -1;
	for (; *follow; follow++) {
		struct rec_files more;
		int r;

		if (rec_files_read(rec, *follow, &more, e))
			return -1;
		r = place_all(root, rec, img, &more, e);
		rec_files_fini(&more);
		if (r)
			return -1;
	}
	return 0;
}

static bool other_recorder; /* bind_shim has hidden another one than it has put there */

bool root_has_other_recorder(void)
{
	return other_recorder;
}

/* The recorder that made the recording takes the place of the one that is installed now. */
static int bind_shim(const struct rec *rec, const struct rec_image *img, struct err *e)
{
	cleanup_free char *ours = str_fmt("%s/files/" RLOG_SHIM_NAME, rec->dir);
	cleanup_free char *path = NULL;
	struct stat a, b;

	for (char **v = img->envp; *v && !path; v++)
		if (str_starts(*v, "LD_PRELOAD="))
			path = strndup(*v + 11, strcspn(*v + 11, ":"));
	if (!path || !path_exists(ours))
		return 0;
	/* an earlier target of this cell has done it */
	if (!stat(ours, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 0;
	other_recorder = !same_bytes(path, ours);
	return cell_mount_bind(ours, path, 1, e);
}

/* Can the recorder be mounted over the file that it was loaded from? */
static bool shim_has_place(const struct rec_image *img)
{
	for (char **v = img->envp; *v; v++) {
		cleanup_free char *path = NULL;

		if (!str_starts(*v, "LD_PRELOAD="))
			continue;
		path = strndup(*v + 11, strcspn(*v + 11, ":"));
		return path_exists(path);
	}
	return true;
}

int root_prepare(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, char own[64],
		 struct err *e)
{
	const struct rec_file *which;
	struct rec_files l;
	int r;

	own[0] = '\0';
	if (rec_files_read(rec, img->ordinal, &l, e))
		return -1;
	which = changed(rec, img, &l);
	if (l.n && (which || !shim_has_place(img))) {
		log_info("%s is not what it was: the replay gets a root of its own",
			 which ? which->real : "the recorder");
		snprintf(own, 64, ROOT_DIR ".%04u", img->ordinal);
		r = build(rec, img, &l, follow, own, e);
	} else {
		r = bind_shim(rec, img, e);
	}
	rec_files_fini(&l);
	return r;
}
