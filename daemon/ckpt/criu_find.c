/* SPDX-License-Identifier: MIT */
/* criu_find.c: which CRIU to run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	const char *chosen = getenv("FRED_CRIU");
	char *found;

	if (chosen && *chosen) {
		if (!access(chosen, X_OK))
			return xstrdup(chosen);
		err_errno(e, ERR_HOST, "FRED_CRIU=%s", chosen);
		return NULL;
	}
	if (!access(CKPT_CRIU_INSTALLED, X_OK))
		return xstrdup(CKPT_CRIU_INSTALLED);
	if (!access(CKPT_CRIU_BUILT, X_OK))
		return xstrdup(CKPT_CRIU_BUILT);
	found = in_path();
	if (!found)
		err_set(e, ERR_HOST, "CRIU is missing (scripts/setup builds it, or set FRED_CRIU)");
	return found;
}
