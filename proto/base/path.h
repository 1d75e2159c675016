/* SPDX-License-Identifier: MIT */
/* path.h: names and folders: joining, making, removing. */
#ifndef FRED_BASE_PATH_H
#define FRED_BASE_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* "dir/name" with one slash between; name alone when it is absolute or dir is "". malloc'd. */
char *path_join(const char *dir, const char *name);
/* What is after the last slash of path. Points into path. */
const char *path_base(const char *path);
/* What is before the last slash: "." if there is none, "/" for "/x". malloc'd. */
char *path_dir(const char *path);
/* path made absolute with the working directory; symbolic links and .. stay. malloc'd; NULL, errno. */
char *path_absolute(const char *path);
/* An absolute path without ".", ".." and empty parts, symbolic links not resolved; malloc'd. */
char *path_clean(const char *path);
bool path_exists(const char *path);
bool path_is_dir(const char *path);
/*
 * Is it, by its folder, a header, library or other part of the distribution (hier(7)), and not the user's own? Not so
 * what is in /usr/local, /usr/src or /opt. path: absolute; clang names its headers "/usr/bin/../lib/...".
 */
bool path_is_system(const char *path);

/* Makes path and its missing parents with this mode; fine if it is a folder already. */
int mkdir_p(const char *path, mode_t mode, struct err *e);
/*
 * Removes path with all that is in it; fine if it does not exist. Follows no symbolic link, and stays
 * on path's own file system: something mounted inside is an error.
 */
int rm_rf(const char *path, struct err *e);
/* The bytes of blocks in use by all files below path (as du). 0 when it does not exist. */
unsigned long long path_disk_usage(const char *path);

#endif
