/* SPDX-License-Identifier: MIT */
/* own.c: see own.h. */
#include "base/own.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

/* The folder of this executable. malloc'd. */
static char *own_dir(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return xstrdup("/");
	exe[n] = '\0';
	return path_dir(exe);
}

char *own_file(const char *what, const char *const *places, struct err *e)
{
	cleanup_free char *dir = own_dir();
	cleanup_buf struct buf looked = {0};

	for (; *places; places++) {
		cleanup_free char *path = path_join(dir, *places);
		char *real = realpath(path, NULL);

		if (real && !access(real, R_OK))
			return real;
		free(real);
		buf_add_str(&looked, looked.len ? ", " : "");
		buf_add_str(&looked, path);
	}
	err_set(e, ERR_HOST, "%s is missing: looked for %s", what, looked.data);
	return NULL;
}
