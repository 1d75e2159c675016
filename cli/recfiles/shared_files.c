/* SPDX-License-Identifier: MIT */
/*
 * shared_files.c: see shared_files.h. Nothing is locked: an object is made by link(2), which does not replace anything,
 * and if one is removed as garbage while another recording is about to use it, that recording just has a copy of its
 * own.
 */
#include "recfiles/shared_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/path.h"
#include "base/str.h"

#define STORE "files"
#define KNOWN "known"
#define MODE 0555 /* a replay may execute it */
#define SAME_NAMES 4 /* how many objects may have the same sum and size, but different bytes */

static bool same_inode(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Replaces path by a link of the file `from`. */
static bool replace_by(const char *from, const char *path)
{
	cleanup_free char *dir = path_dir(path), *temp = str_fmt("%s/.%s", dir, path_base(path));

	unlink(temp); /* left by a process that was killed here */
	if (link(from, temp))
		return false;
	if (!rename(temp, path))
		return true;
	unlink(temp);
	return false;
}

/* The time at which the original was last written: it is part of the copy's name (plugins/record/store/files.c). */
static bool time_of(const char *path, struct timespec *at)
{
	unsigned long long dev, ino, size, ns;

	if (sscanf(path_base(path), "%llx-%llx-%llx-%llx", &dev, &ino, &size, &ns) != 4)
		return false;
	*at = (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	return true;
}

/* Gives the object that path is a link of this time. */
static void keep_time(const char *path)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

	if (time_of(path, &times[1]))
		utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/*
 * Are these files of the same sum and size equal? If they were also written in the same nanosecond, that is taken as
 * proof, to save reading large files.
 */
static bool same_file(const char *object, const char *path)
{
	struct timespec at;
	struct stat st;

	if (time_of(path, &at) && !stat(object, &st) && st.st_mtim.tv_sec == at.tv_sec &&
	    st.st_mtim.tv_nsec == at.tv_nsec)
		return true;
	return same_bytes(object, path);
}

/* ---- $FRED_HOME/files/known ---- */

static char *known_dir(void)
{
	struct err ignored;
	cleanup_free char *store = home_subdir(STORE, &ignored), *known = store ? path_join(store, KNOWN) : NULL;

	return known && !mkdir_p(known, 0700, &ignored) ? steal_ptr(&known) : NULL;
}

void shared_files_begin(const char *rec)
{
	cleanup_free char *known = known_dir(), *link = path_join(rec, KNOWN);

	if (known && symlink(known, link))
		return; /* then the recorder copies all files */
}

void shared_files_end(const char *rec)
{
	cleanup_free char *link = path_join(rec, KNOWN);

	unlink(link);
}

/* The inodes of the files that have a link in known. */
static void known_inodes(struct buf *inodes)
{
	cleanup_free char *known = known_dir();
	cleanup_closedir DIR *d = known ? opendir(known) : NULL;
	struct dirent *de;
	struct stat st;

	while (d && (de = readdir(d)))
		if (!fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			buf_add(inodes, &st.st_ino, sizeof(st.st_ino));
}

static bool is_among(const struct buf *inodes, ino_t ino)
{
	const ino_t *known = (const ino_t *)inodes->data;

	for (size_t i = 0; i < inodes->len / sizeof(*known); i++)
		if (known[i] == ino)
			return true;
	return false;
}

/* ---- $FRED_HOME/files ---- */

static void share(const char *store, const char *path, const char *sum, unsigned long long size)
{
	struct stat st;

	for (unsigned i = 0; i < SAME_NAMES; i++) {
		cleanup_free char *object = str_fmt("%s/%s-%llx-%u", store, sum, size, i);

		if (!link(path, object)) {
			chmod(object, MODE);
			keep_time(path);
			return;
		}
		if (errno != EEXIST || same_inode(object, path))
			return;
		if (same_file(object, path)) {
			/* the file that has a link in known becomes the object */
			if (!stat(path, &st) && st.st_nlink > 1)
				replace_by(path, object);
			else
				replace_by(object, path);
			return;
		}
	}
}

void shared_files_link(const char *rec, const json_t *manifest)
{
	struct err ignored;
	cleanup_free char *store = home_subdir(STORE, &ignored);
	const json_t *entry;
	size_t i;

	if (!store)
		return;
	json_array_foreach((json_t *)manifest, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "path"));
		const char *sum = json_string_value(json_object_get(entry, "crc32c"));
		cleanup_free char *path = NULL;

		if (!name || !sum || !str_starts(name, "files/"))
			continue;
		path = path_join(rec, name);
		share(store, path, sum, (unsigned long long)json_integer_value(json_object_get(entry, "size")));
	}
}

void shared_files_link_one(const char *path)
{
	struct err ignored;
	cleanup_free char *store = home_subdir(STORE, &ignored);
	char sum[16];
	uint64_t size;
	uint32_t crc;

	if (!store || crc32c_file(path, &crc, &size, &ignored))
		return;
	snprintf(sum, sizeof(sum), "%08x", crc);
	share(store, path, sum, size);
}

/* Removes the links that no recording uses: those of files without others. An object may have one in known, too. */
static void sweep(const char *dir, const struct buf *known)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;
	struct stat st;

	while (d && (de = readdir(d)))
		if (!fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		    st.st_nlink == (nlink_t)(known && is_among(known, st.st_ino) ? 2 : 1))
			unlinkat(dirfd(d), de->d_name, 0);
}

void shared_files_sweep(void)
{
	struct err ignored;
	cleanup_free char *store = home_subdir(STORE, &ignored), *known = known_dir();
	cleanup_buf struct buf inodes = {0};

	known_inodes(&inodes);
	if (store)
		sweep(store, &inodes);
	if (known)
		sweep(known, NULL);
}

void shared_files_usage(const char *rec, unsigned long long *own, unsigned long long *shared)
{
	cleanup_free char *dir = path_join(rec, "files");
	cleanup_closedir DIR *d = opendir(dir);
	cleanup_buf struct buf inodes = {0};
	struct dirent *de;
	struct stat st;

	known_inodes(&inodes);
	*shared = 0;
	while (d && (de = readdir(d)))
		if (!fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		    st.st_nlink > (nlink_t)(is_among(&inodes, st.st_ino) ? 3 : 2))
			*shared += (unsigned long long)st.st_blocks * 512;
	*own = path_disk_usage(rec) - *shared;
}
