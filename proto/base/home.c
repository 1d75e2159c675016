// SPDX-License-Identifier: MIT
/* home.c: finds and makes $FRED_HOME. A folder that someone else owns is refused: it holds our socket. */
#include "base/home.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#define CACHE_ROOM (32u << 20) /* more than GDB's and the parts of Python that it uses */

static const char *env_path(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

static char *data_home(void)
{
	const char *xdg = env_path("XDG_DATA_HOME"), *home = env_path("HOME");

	/* The XDG specification: a relative path is invalid and is to be ignored. */
	if (xdg && xdg[0] == '/')
		return xstrdup(xdg);
	if (!home) {
		struct passwd *pw = getpwuid(getuid());

		home = pw ? pw->pw_dir : "/";
	}
	return path_join(home, ".local/share");
}

static char *home_path(struct err *e)
{
	const char *env = env_path("FRED_HOME");
	cleanup_free char *data = NULL;
	char *path;

	if (!env) {
		data = data_home();
		return path_join(data, "fred");
	}
	path = path_absolute(env);
	if (!path)
		err_errno(e, ERR_HOST, "FRED_HOME=%s: no working directory", env);
	return path;
}

static int check_dir(const char *path, struct err *e)
{
	struct stat st;

	if (mkdir_p(path, 0700, e) < 0) {
		err_wrap(e, "fred's home (set FRED_HOME to choose another)");
		if (e)
			e->kind = ERR_HOST;
		return -1;
	}
	if (stat(path, &st) < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_HOST, "%s belongs to another user (set FRED_HOME)", path);
	return 0;
}

char *home_dir(struct err *e)
{
	cleanup_free char *path = home_path(e);

	if (!path || check_dir(path, e) < 0)
		return NULL;
	return steal_ptr(&path);
}

char *home_subdir(const char *name, struct err *e)
{
	cleanup_free char *home = home_dir(e), *path = NULL;

	if (!home)
		return NULL;
	path = path_join(home, name);
	if (check_dir(path, e) < 0)
		return NULL;
	return steal_ptr(&path);
}

/* A file that Python cannot write whole stays there, cut off, and then no Python starts (its _write_atomic). */
static bool has_room(const char *dir)
{
	struct statvfs v;
	struct rlimit l;

	return !getrlimit(RLIMIT_FSIZE, &l) && l.rlim_cur >= CACHE_ROOM && !statvfs(dir, &v) &&
	       v.f_bavail >= CACHE_ROOM / v.f_frsize;
}

void home_use_python_cache(void)
{
	struct err ignored;
	cleanup_free char *dir = home_subdir("python", &ignored);

	if (!dir)
		return;
	setenv("PYTHONPYCACHEPREFIX", dir, 1);
	if (has_room(dir))
		unsetenv("PYTHONDONTWRITEBYTECODE");
	else
		setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
}
