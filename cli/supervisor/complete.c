/* SPDX-License-Identifier: MIT */
/* complete.c: see complete.h. */
#include "supervisor/complete.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "recfiles/compress.h"
#include "recfiles/running.h"
#include "recfiles/shared_files.h"
#include "recfiles/sources.h"
#include "reclog/rec.h"
#include "supervisor/keeper.h"
#include "supervisor/log_limit.h"
#include "supervisor/meta.h"

#define SOURCES_S 0.2 /* limit for copying source files, in seconds */

int complete_recording(const char *dir, json_t *meta, const struct rlog_control *c, double compress_s, struct err *e)
{
	cleanup_free char *group = path_join(dir, "group");
	json_t *manifest, *sources;
	struct err why;

	unlink(group); /* the processes have made these files, see plugins/record/shm/group.c */
	shared_files_end(dir);
	meta_set_notes(meta, c);
	if (compress_rest(dir, compress_s, &why))
		json_array_append_new(json_object_get(meta, "notes"),
				      json_sprintf("logs are not compressed: %s", why.text));
	sources = sources_keep(dir, SOURCES_S);
	if (sources)
		json_object_set_new(meta, "sources", sources);
	manifest = rec_make_manifest(dir, e);
	if (!manifest)
		return -1;
	json_object_set_new(meta, "manifest", manifest);
	json_object_set_new(meta, "complete", json_true());
	json_object_del(meta, "still_running");
	rec_seal_meta(meta);
	if (meta_write(dir, meta, e))
		return -1;
	shared_files_link(dir, manifest);
	return 0;
}

/* Closes the caller's terminal and leaves its folder. */
static void forget_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (chdir("/"))
		return; /* if that fails, the folder stays in use */
}

static void wait_end(pid_t pid)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (fd >= 0 && poll(&p, 1, -1) <= 0)
		;
}

static _Noreturn void work(const char *dir, json_t *meta, struct rlog_control *c, struct keeper *k)
{
	struct log_limit *b = log_limit_start(dir, c);
	struct compressor *s = b ? NULL : compressor_start(dir);
	struct err ignored;
	unsigned running;
	pid_t pid;

	forget_terminal();
	if (k)
		keeper_serve(k, &ignored);
	while ((pid = running_first(dir)) > 0)
		wait_end(pid);
	compressor_stop(s);
	log_limit_stop(b);
	_exit(running_trim_logs(dir, &running, &ignored) || complete_recording(dir, meta, c, INFINITY, &ignored) ? 1
														 : 0);
}

void complete_in_background(const char *dir, json_t *meta, struct rlog_control *c, struct keeper *k)
{
	if (fork() == 0)
		work(dir, meta, c, k);
}
