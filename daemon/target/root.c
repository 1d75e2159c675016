/* SPDX-License-Identifier: MIT */
/*
 * root.c: see root.h. Paths come from the recording, which may be anybody's: below the root all of them are resolved by
 * openat2 with RESOLVE_IN_ROOT, so that neither .. nor a symbolic link leads out of it.
 */
#include "target/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/plain.h"
#include "gdb/gdb.h"
#include "launch/launch.h"
#include "reclog/files.h"
#include "rlog/replay.h"
#include "target/tree.h"

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

/* Would the recorder give this name, "DEV-INO-SIZE-MTIMENS", to a copy of the file? */
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

/* Has it a name that means the same to other processes (program.c)? */
static bool is_named(const struct rec_file *f)
{
	return f->path[0] && !str_starts(f->path, "/proc/") && !str_starts(f->path, "/dev/fd/");
}

/*
 * The first file that is gone or changed; NULL: none is. at_start: only files with which the program is started, which
 * have a path; what is mapped later is mapped from the copies.
 */
static const struct rec_file *changed(const struct rec *rec, const struct rec_image *img, const struct rec_files *l,
				      bool at_start)
{
	for (size_t i = 0; i < l->n; i++)
		if ((!at_start || is_named(&l->f[i])) && !str_eq(l->f[i].copy, RLOG_SHIM_NAME) &&
		    !same_on_host(rec, img, &l->f[i]))
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

/* Makes the folders of the path, with its last part if `whole`; returns a descriptor of the last one. -1, errno. */
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

/* Makes src, with all that is mounted below it, appear at fd; `set`: mount attributes besides nosuid and nodev. */
static int bind_at(const char *src, int fd, uint64_t set, struct err *e)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | set};
	cleanup_close int tree = open_tree(AT_FDCWD, src, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) ||
	    move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		return err_errno(e, ERR_HOST, "cannot mount %s in the root of a replay", src);
	return 0;
}

/*
 * A /proc of the same processes, but without /proc/sys and the like. It is writable, since its files belong to the
 * replay's user.
 */
static int place_proc(int root, struct err *e)
{
	cleanup_close int dir = make_dirs(root, "/proc", true);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (dir < 0 || mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid"))
		return err_errno(e, ERR_HOST, "cannot mount /proc in the root of a replay");
	return 0;
}

/* The folder that worker and replay share; the replay only reads it. */
static int place_shared(int root, struct err *e)
{
	cleanup_close int dir = make_dirs(root, REPLAY_DIR, true);

	if (dir < 0)
		return err_errno(e, ERR_HOST, "cannot make " REPLAY_DIR " in the root of a replay");
	return bind_at(REPLAY_DIR, dir, MOUNT_ATTR_RDONLY, e);
}

/* A file in that folder that the replay writes. */
static int place_writable(int root, const char *name, uint32_t process, struct err *e)
{
	cleanup_free char *path = str_fmt(REPLAY_DIR "/%s.%04u", name, process);
	cleanup_close int host = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), fd = -1;
	struct statvfs s;

	fd = host < 0 ? -1 : open_in_root(root, path, O_PATH);
	if (fd < 0 || fstatvfs(fd, &s))
		return err_errno(e, ERR_HOST, "%s", path);
	return s.f_flag & ST_RDONLY ? bind_at(path, fd, 0, e) : 0;
}

static int set_read_only(const char *own, bool read_only, struct err *e)
{
	struct mount_attr attr = {.attr_set = read_only ? MOUNT_ATTR_RDONLY : 0,
				  .attr_clr = read_only ? 0 : MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, own, 0, &attr, sizeof(attr)))
		return err_errno(e, ERR_HOST, "cannot make %s %s", own, read_only ? "read-only" : "writable");
	return 0;
}

/* The folders are made here; the files in them are mounts. */
static int make_root(const char *own, struct err *e)
{
	if (mount("tmpfs", own, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64m"))
		return err_errno(e, ERR_HOST, "cannot mount a tmpfs on %s", own);
	return 0;
}

/* Puts a copy at its original place. A file that is already there stays. */
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
	return bind_at(src, fd, MOUNT_ATTR_RDONLY, e);
}

/* Makes a link for the name that the program used, if that differs. */
static int place_link(int root, const char *real, const char *path, struct err *e)
{
	cleanup_close int dir = make_dirs(root, path, false), there = -1;

	there = dir < 0 ? -1 : open_in_root(root, path, O_PATH);
	/* in /proc the name exists, but leads to another file: program_path (program.c) then gives another path */
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

/*
 * Adds what a replay needs besides the program's files; and a path for GDB, which puts the root before /proc/PID/exe.
 */
static int furnish(int root, const char *own, const struct rec_image *img, struct err *e)
{
	cleanup_close int cwd = make_dirs(root, img->cwd[0] ? img->cwd : "/", true), run = -1;

	if (cwd < 0)
		return err_errno(e, ERR_USAGE, "cannot make %s in the root of a replay", img->cwd);
	if (place_proc(root, e) || place_shared(root, e))
		return -1;
	run = make_dirs(root, "/run", true);
	if (run < 0 || (symlinkat("..", run, path_base(own)) && errno != EEXIST))
		return err_errno(e, ERR_HOST, "cannot make a link in the root of a replay");
	return 0;
}

static int place_image(int root, const struct rec *rec, const struct rec_image *img, uint32_t process, struct err *e)
{
	struct rec_files l;
	int r;

	if (rec_files_read(rec, process, &l, e))
		return -1;
	r = place_all(root, rec, img, &l, e) || place_writable(root, "out", process, e) ? -1 : 0;
	rec_files_fini(&l);
	return r;
}

static int fill(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, const char *own, bool fresh,
		struct err *e)
{
	cleanup_close int root = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_errno(e, ERR_HOST, "%s", own);
	if ((fresh && furnish(root, own, img, e)) || place_writable(root, "ctl", img->ordinal, e) ||
	    place_image(root, rec, img, img->ordinal, e))
		return -1;
	for (; *follow; follow++)
		if (place_image(root, rec, img, *follow, e))
			return -1;
	return 0;
}

/* Is the root at own that of another recording, which was replayed in this cell before? */
static bool is_of_another(const char *own, const struct rec *rec)
{
	cleanup_free char *there = root_rec(), *theirs = str_fmt("%s%s", own, there);
	struct stat a, b;

	return stat(rec->dir, &a) || stat(theirs, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino;
}

/* No process may be in the root while it is written. */
static int build(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, const char *own,
		 struct err *e)
{
	bool fresh = !mkdir(own, 0755);

	if (!fresh && is_of_another(own, rec)) {
		if (umount2(own, MNT_DETACH))
			return err_errno(e, ERR_HOST, "cannot remove the root of another recording, %s", own);
		fresh = true;
	}
	if ((fresh ? make_root(own, e) : set_read_only(own, false, e)) || fill(rec, img, follow, own, fresh, e))
		return -1;
	return set_read_only(own, true, e);
}

int root_link(const char *own, const char *path, const char *to, struct err *e)
{
	cleanup_free char *link = str_fmt("%s%s", own, path);
	int r = 0;

	if (set_read_only(own, false, e))
		return -1;
	unlink(link); /* from another image */
	if (symlink(to, link))
		r = err_errno(e, ERR_HOST, "link %s to %s", link, to);
	return set_read_only(own, true, e) ? -1 : r;
}

/* Tells GDB (gdb/gdb.h) whether the host's files are unchanged. */
static int mark_same(const char *own, bool same, struct err *e)
{
	cleanup_free char *path = str_fmt("%s" GDB_SAME_FILES, own);
	cleanup_close int fd = -1;

	if (!same)
		return unlink(path) && errno != ENOENT ? err_errno(e, ERR_HOST, "%s", path) : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

/* Is the host's recorder, at the place from which it was loaded, the same as when the recording was made? */
static bool same_recorder(const struct rec *rec, const struct rec_image *img)
{
	cleanup_free char *ours = str_fmt("%s/files/" RLOG_SHIM_NAME, rec->dir);

	for (char **v = img->envp; *v; v++) {
		cleanup_free char *path = NULL;

		if (!str_starts(*v, "LD_PRELOAD="))
			continue;
		path = strndup(*v + 11, strcspn(*v + 11, ":"));
		return path_exists(path) && (!path_exists(ours) || same_bytes(path, ours));
	}
	return true;
}

char *root_rec(void)
{
	return str_fmt("%s/rec", cell_dir());
}

/* In a plain cell, the host's files are used if they are unchanged. A name that leads to another file needs a tree. */
static bool needs_tree(const struct rec *rec, const struct rec_image *img, const struct rec_files *l)
{
	return changed(rec, img, l, true) || !same_recorder(rec, img) || str_starts(img->execfn, "/proc/") ||
	       str_starts(img->execfn, "/dev/fd/");
}

static int prepare_plain(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, bool tree,
			 char own[64], struct err *e)
{
	if (!tree)
		return 0;
	snprintf(own, 64, "%s/root.%04u", cell_dir(), img->ordinal);
	return tree_make(rec, img, follow, own, e);
}

/* The program and its libraries are executed from the recording's copies, so its file system must allow that. */
static int check_mount(const struct rec *rec, struct err *e)
{
	struct statvfs s;

	return !statvfs(rec->dir, &s) && s.f_flag & ST_NOEXEC ? err_set(e, ERR_HOST,
									"%s is on a file system without the right to "
									"execute (noexec), and a replay executes the "
									"recording's copy of the program: move the "
									"recording to another file system; FRED_HOME "
									"says where new ones go",
									rec->dir)
							      : 0;
}

int root_prepare(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, char own[64],
		 bool *on_host, struct err *e)
{
	struct rec_files l;
	bool tree;

	if (rec_files_read(rec, img->ordinal, &l, e))
		return -1;
	*on_host = !changed(rec, img, &l, false) && same_recorder(rec, img);
	tree = cell_is_plain() && needs_tree(rec, img, &l);
	rec_files_fini(&l);
	own[0] = '\0';
	if (cell_is_plain())
		return prepare_plain(rec, img, follow, tree, own, e);
	if (check_mount(rec, e))
		return -1;
	snprintf(own, 64, ROOT_DIR ".%04u", img->ordinal);
	return mark_same(own, *on_host, e) || build(rec, img, follow, own, e) ? -1 : 0;
}
