/* SPDX-License-Identifier: MIT */
/*
 * finish.c: what is left to do when the program has ended. A log is a mapped file that grows ahead of
 * its thread; the logs of ended processes are cut to what was written. Processes that still run (a
 * daemon that the program started) keep theirs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/record.h"
#include "reclog/image.h"
#include "reclog/reader.h"

/* A process that records into dir has its control page mapped, whatever else has got its PID since. */
static int is_running(const char *dir, pid_t pid)
{
	cleanup_free char *maps = str_fmt("/proc/%d/maps", (int)pid);
	cleanup_free char *control = path_join(dir, "control");
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return pid > 0 && !read_file(maps, &b, &ignored) && strstr(buf_str(&b), control);
}

/* Bytes of a log that are in use; -1 when that cannot be told. */
static off_t used_bytes(const char *path)
{
	struct err ignored;
	struct rlog_rec rec;
	struct reader_iter it;
	enum rlog_read got;
	struct reader log;
	off_t used;

	if (reader_open(&log, path, &ignored))
		return -1;
	it = reader_begin(&log);
	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK)
		;
	used = got == RLOG_READ_END ? it.p - log.base : -1;
	reader_fini(&log);
	return used;
}

static int trim_log(const char *path, struct err *e)
{
	off_t used = used_bytes(path);
	struct stat st;

	if (used < 0 || stat(path, &st) || st.st_size <= used)
		return 0; /* damaged ones stay as they are, for whoever looks into it */
	return truncate(path, used) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

static int trim_process(const char *dir, struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = NULL;

		if (de->d_name[0] != 't' || !str_ends(de->d_name, ".log"))
			continue;
		path = path_join(dir, de->d_name);
		if (trim_log(path, e))
			return -1;
	}
	return 0;
}

int record_trim(const char *dir, unsigned *running, struct err *e)
{
	*running = 0;
	for (unsigned i = 1; i <= RLOG_MAX_PROCESSES; i++) {
		cleanup_free char *process = str_fmt("%s/p%04u", dir, i);
		cleanup_free char *path = path_join(process, "image");
		struct rec_image img;
		struct err ignored;
		int alive = 0;

		if (!path_is_dir(process))
			break; /* ordinals are given in order */
		if (!rec_image_read(&img, path, i, &ignored)) {
			alive = is_running(dir, img.head.pid);
			rec_image_fini(&img);
		}
		*running += alive != 0;
		if (!alive && trim_process(process, e))
			return -1;
	}
	return 0;
}
