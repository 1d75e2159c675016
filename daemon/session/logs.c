/* SPDX-License-Identifier: MIT */
/* logs.c: see logs.h. */
#include "session/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "reclog/frames.h"
#include "rlog/replay.h"

static int prepare_log(const char *from, const char *to, struct err *e)
{
	cleanup_close int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : err_errno(e, ERR_HOST, "%s", to);
	if (!frames_unpack(from, fd, 0, e))
		return 0;
	unlink(to);
	return -1;
}

static int prepare_image(const struct rec *rec, const struct rec_image *img, struct err *e)
{
	cleanup_free char *dir = str_fmt(REPLAY_LOGS "/p%04u", img->ordinal);

	for (unsigned i = 0; i < img->nthreads; i++) {
		cleanup_free char *from = rec_log_path(rec, img->ordinal, img->threads[i]);
		cleanup_free char *to = str_fmt("%s/t%04u.log", dir, img->threads[i]);

		if (!rec_log_changes(rec, from))
			continue;
		if (mkdir_p(dir, 0700, e) || prepare_log(from, to, e))
			return -1;
	}
	return 0;
}

int logs_prepare(const struct rec *rec, uint32_t root, uint32_t process, struct err *e)
{
	const struct rec_image *img;

	do {
		img = rec_image(rec, process, e);
		if (!img || prepare_image(rec, img, e))
			return -1;
		process = img->head.parent;
	} while (img->ordinal != root);
	return 0;
}
