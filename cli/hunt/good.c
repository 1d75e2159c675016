/* SPDX-License-Identifier: MIT */
/* good.c: see good.h. */
#include "hunt/good.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "hunt/run.h"

#define FOLDER "passed"

bool good_is_wanted(const struct hunt_state *s, enum hunt_class sched)
{
	cleanup_free char *dir = state_path(s, FOLDER, hunt_class_name(sched));

	return !path_exists(dir);
}

void good_keep(const struct hunt_state *s, const struct hunt_run *r)
{
	cleanup_free char *dir = state_path(s, FOLDER, hunt_class_name(r->sched)), *all = state_path(s, FOLDER, NULL);
	struct err ignored;

	/* if another task was faster, this rename fails: a folder that is not empty is not replaced */
	if (mkdir_p(all, 0700, &ignored) || rename(r->dir, dir))
		rm_rf(r->dir, &ignored);
}

unsigned long long good_bytes(const struct hunt_state *s)
{
	cleanup_free char *all = state_path(s, FOLDER, NULL);

	return path_exists(all) ? path_disk_usage(all) : 0;
}

void good_drop(const struct hunt_state *s)
{
	cleanup_free char *all = state_path(s, FOLDER, NULL);
	struct err ignored;

	rm_rf(all, &ignored);
}

char *good_of(const char *failure, enum hunt_class sched)
{
	cleanup_free char *state = str_fmt("%s/../../" FOLDER "/%s/rec", failure, hunt_class_name(sched));
	char *rec = realpath(state, NULL);

	return rec;
}
