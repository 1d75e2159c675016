// SPDX-License-Identifier: MIT
/* path.c: names and folders. Removal works on descriptors, so that no one can swap a link under it. */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

char *path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	if (!n || name[0] == '/')
		return xstrdup(name);
	return str_fmt("%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

char *path_absolute(const char *path)
{
	cleanup_free char *cwd = NULL;

	if (path[0] == '/')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	return cwd ? path_join(cwd, path) : NULL;
}

char *path_clean(const char *path)
{
	char *clean = xmalloc(strlen(path) + 2), *out = clean;

	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !strncmp(path, "..", 2)) {
			while (out > clean && *--out != '/')
				;
		} else if (n && !(n == 1 && *path == '.')) {
			*out++ = '/';
			memcpy(out, path, n);
			out += n;
		}
		path += n;
		path += *path == '/';
	}
	*out = '\0';
	return clean;
}

bool path_exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

bool path_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool path_is_system(const char *path)
{
	cleanup_free char *clean = path_clean(path);
	static const char *const folders[] = {"/usr/include/", "/usr/lib/",	"/usr/lib32/", "/usr/lib64/",
					      "/usr/libx32/",  "/usr/libexec/", "/usr/share/", "/lib/",
					      "/lib32/",       "/lib64/",	"/libx32/"};

	for (size_t i = 0; *path == '/' && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (str_starts(clean, folders[i]))
			return true;
	return false;
}

static int make_one(const char *path, mode_t mode, struct err *e)
{
	if (!mkdir(path, mode))
		return 0;
	if (errno == EEXIST) {
		if (path_is_dir(path))
			return 0;
		errno = ENOTDIR;
	}
	return err_errno(e, ERR_INTERNAL, "cannot make the folder %s", path);
}

int mkdir_p(const char *path, mode_t mode, struct err *e)
{
	cleanup_free char *p = xstrdup(path);

	if (path_is_dir(path))
		return 0;
	for (char *s = p + 1; *p && *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		/* Not mkdir first: a parent on a read-only file system answers EROFS. */
		if (!path_is_dir(p) && make_one(p, mode, e) < 0)
			return -1;
		*s = '/';
	}
	return make_one(path, mode, e);
}

static int remove_at(int dir, const char *name, dev_t dev);

static int empty_dir(int parent, const char *name, dev_t dev)
{
	cleanup_close int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *ent;

	if (!d)
		return -1;
	steal_fd(&fd);
	while (errno = 0, (ent = readdir(d))) {
		if (!strcmp(ent->d_name, ".") || !strcmp(ent->d_name, ".."))
			continue;
		if (remove_at(dirfd(d), ent->d_name, dev) < 0)
			return -1;
	}
	return errno ? -1 : 0;
}

static int remove_at(int dir, const char *name, dev_t dev)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -1 : 0;
	if (st.st_dev != dev) {
		errno = EXDEV;
		return -1;
	}
	if (empty_dir(dir, name, dev) < 0)
		return -1;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -1 : 0;
}

int rm_rf(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, ERR_INTERNAL, "%s", path);
	if (remove_at(AT_FDCWD, path, st.st_dev) < 0)
		return err_errno(e, ERR_INTERNAL, "cannot remove %s", path);
	return 0;
}

static unsigned long long usage_at(int dir, const char *name)
{
	cleanup_closedir DIR *d = NULL;
	unsigned long long sum;
	struct dirent *ent;
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	sum = (unsigned long long)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return sum;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sum;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return sum;
	}
	while ((ent = readdir(d)))
		if (strcmp(ent->d_name, ".") && strcmp(ent->d_name, ".."))
			sum += usage_at(dirfd(d), ent->d_name);
	return sum;
}

unsigned long long path_disk_usage(const char *path)
{
	return usage_at(AT_FDCWD, path);
}
