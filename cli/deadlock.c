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

static int read_of_task(const char *folder, const char *tid, const char *name, struct buf *b)
{
	cleanup_free char *path = str_fmt("%s/%s/%s", folder, tid, name);
	struct err ignored;

	return read_file(path, b, &ignored);
}

/* In a futex(2), as the kernel says it in /proc/PID/task/TID/syscall; of one that has just been woken, stat knows that. */
static bool sleeps(const char *folder, const char *tid)
{
	cleanup_buf struct buf call = {0}, stat = {0};
	const char *state;

	if (read_of_task(folder, tid, "syscall", &call) || read_of_task(folder, tid, "stat", &stat))
		return false;
	state = strrchr(buf_str(&stat), ')');
	return !strncmp(buf_str(&call), FUTEX, strlen(FUTEX)) && state && !strncmp(state, ") S", 3);
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
