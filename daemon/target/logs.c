/* SPDX-License-Identifier: MIT */
/* logs.c: see logs.h. */
#include "target/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/plain.h"
#include "reclog/frames.h"

/*
 * In a bounded recording, the start is a checkpoint, whose process has the logs mapped: so the files must never change
 * their size, and are made far larger than needed (a hole takes no memory). All have room between REPLAY_LOG_ADDR and
 * REPLAY_CTL_ADDR.
 */
static uint64_t room_of(const struct rec *rec, uint32_t thread)
{
	if (!rec->control.log_limit)
		return 0;
	return thread <= 32 ? 1ull << 36 : 1ull << 28;
}

static int prepare_log(const char *from, const char *to, uint64_t room, struct err *e)
{
	struct stat st;

	cleanup_close int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : err_errno(e, ERR_HOST, "%s", to);
	if (!frames_unpack(from, fd, room, e)) {
		if (!room || (!fstat(fd, &st) && (uint64_t)st.st_size == room))
			return 0;
		err_set(e, ERR_HOST, "%s: too long for a bounded recording", from);
	}
	unlink(to);
	return -1;
}

const char *logs_dir(void)
{
	static char *dir;

	if (!dir)
		dir = str_fmt("%s/logs", cell_dir());
	return dir;
}

static int prepare_image(const struct rec *rec, const struct rec_image *img, struct err *e)
{
	cleanup_free char *dir = str_fmt("%s/p%04u", logs_dir(), img->ordinal);

	for (unsigned i = 0; i < img->nthreads; i++) {
		cleanup_free char *from = rec_log_path(rec, img->ordinal, img->threads[i]);
		cleanup_free char *to = str_fmt("%s/t%04u.log", dir, img->threads[i]);

		if (!rec_log_changes(rec, from))
			continue;
		if (mkdir_p(dir, 0700, e) || prepare_log(from, to, room_of(rec, img->threads[i]), e))
			return -1;
	}
	return 0;
}

/*
 * For an image that has no events left: a process that it forked may begin with a checkpoint, in which these logs are
 * mapped, though nothing is read there.
 */
static int prepare_gone(const struct rec *rec, uint32_t process, struct err *e)
{
	cleanup_free char *from = str_fmt("%s/p%04u", rec->dir, process),
			  *to = str_fmt("%s/p%04u", logs_dir(), process);
	cleanup_closedir DIR *d = opendir(from);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		uint64_t thread = strtoul(de->d_name + 1, NULL, 10);
		cleanup_free char *log = path_join(from, de->d_name), *copy = path_join(to, de->d_name);

		if (*de->d_name != 't' || !str_ends(de->d_name, ".log") || !thread || thread > RLOG_MAX_THREADS)
			continue;
		if (mkdir_p(to, 0700, e) || prepare_log(log, copy, room_of(rec, (uint32_t)thread), e))
			return -1;
	}
	return 0;
}

int logs_prepare(const struct rec *rec, uint32_t root, uint32_t process, struct err *e)
{
	const struct rec_image *img;

	do {
		img = rec_image(rec, process, e);
		if (!img || (img->nthreads ? prepare_image(rec, img, e) : prepare_gone(rec, img->ordinal, e)))
			return -1;
		process = img->head.parent;
	} while (img->ordinal != root);
	return 0;
}
