/* SPDX-License-Identifier: MIT */
/* deadlock.c: see deadlock.h. The recorder looks before the last thread waits; that it does is seen here. */
#include "cli/deadlock.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/maps.h"
#include "base/str.h"
#include "cli/control.h"

#define LOOKS 3u
#define FUTEX "202 "

/* In a futex(2), as the kernel says it in /proc/PID/task/TID/syscall; of one that has just been woken, stat knows that. */
static bool sleeps(const char *folder, const char *tid)
{
	cleanup_free char *call = str_fmt("%s/%s/syscall", folder, tid), *stat = str_fmt("%s/%s/stat", folder, tid);
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return !read_file(call, &b, &ignored) && !strncmp(buf_str(&b), FUTEX, strlen(FUTEX)) && maps_state(stat) == 'S';
}

static bool all_sleep(pid_t pid)
{
	cleanup_free char *folder = str_fmt("/proc/%d/task", (int)pid);
	DIR *dir = opendir(folder);
	struct dirent *d;
	bool all = dir != NULL;

	while (all && (d = readdir(dir)))
		all = d->d_name[0] == '.' || sleeps(folder, d->d_name);
	if (dir)
		closedir(dir);
	return all;
}

bool deadlock_look(struct deadlock *d)
{
	if (!control_is_deadlock(d->control)) {
		d->looks = 0;
		return false;
	}
	d->looks = all_sleep(d->pid) ? d->looks + 1 : 0;
	if (d->looks < LOOKS)
		return true;
	kill(d->pid, SIGABRT);
	return false;
}
