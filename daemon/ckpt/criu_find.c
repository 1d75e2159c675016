/* SPDX-License-Identifier: MIT */
/* criu_find.c: which CRIU to run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/str.h"
#include "ckpt/ckpt.h"

static char *in_path(void)
{
	const char *path = getenv("PATH");
	struct strv dirs = {0};
	char *found = NULL;

	strv_split(&dirs, path ? path : "", ":");
	strv_add(&dirs, "/usr/sbin");
	strv_add(&dirs, "/usr/local/sbin");
	for (size_t i = 0; i < dirs.n && !found; i++) {
		char *name = str_fmt("%s/criu", dirs.s[i]);

		if (!access(name, X_OK))
			found = name;
		else
			free(name);
	}
	strv_fini(&dirs);
	return found;
}

char *ckpt_criu_path(struct err *e)
{
	static const char *const places[] = {
		"ckpt/criu",
		"../../../daemon/ckpt/criu", /* of the tests' programs */
		FRED_LIBEXEC "/criu",
		NULL,
	};
	const char *chosen = getenv("FRED_CRIU");
	struct err ignored;
	char *found;

	if (chosen && *chosen) {
		if (!access(chosen, X_OK))
			return xstrdup(chosen);
		err_errno(e, ERR_HOST, "FRED_CRIU=%s", chosen);
		return NULL;
	}
	found = own_file("criu", places, &ignored);
	if (!found)
		found = in_path();
	if (!found)
		err_set(e, ERR_HOST, "CRIU is missing (scripts/setup builds it, or set FRED_CRIU)");
	return found;
}
