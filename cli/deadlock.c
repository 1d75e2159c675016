/* SPDX-License-Identifier: MIT */
/* deadlock.c: see deadlock.h. The recorder looks before the last thread waits; that it does is seen here. */
#include "cli/deadlock.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/control.h"

#define LOOKS 3u
#define FUTEX "202 "

/* Each thread sleeps in a futex(2), as the kernel says it in /proc/PID/task/TID/syscall. */
static bool all_sleep(pid_t pid)
{
	cleanup_free char *folder = str_fmt("/proc/%d/task", (int)pid);
	DIR *dir = opendir(folder);
	struct dirent *d;
	bool all = dir != NULL;

	while (all && (d = readdir(dir))) {
		cleanup_free char *path = str_fmt("%s/%s/syscall", folder, d->d_name);
		cleanup_buf struct buf b = {0};
		struct err ignored;

		if (d->d_name[0] != '.')
			all = !read_file(path, &b, &ignored) && !strncmp(buf_str(&b), FUTEX, strlen(FUTEX));
	}
	if (dir)
		closedir(dir);
	return all;
}

bool deadlock_look(struct deadlock *d)
{
	if (!control_is_deadlock(d->control))
		return false;
	d->looks = all_sleep(d->pid) ? d->looks + 1 : 0;
	if (d->looks < LOOKS)
		return true;
	kill(d->pid, SIGABRT);
	return false;
}
