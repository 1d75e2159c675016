/* SPDX-License-Identifier: MIT */
/* dispatch.c: see dispatch.h. */
#include "ckpt/dispatch.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "ckpt/threads.h"

/* old: gets the earlier setting; NULL: it is not needed. */
static int change(pid_t tid, struct sud_config *old, const struct sud_config *to, struct err *e)
{
	int sig, r = 0;

	if (threads_stop(tid, &sig, e))
		return -1;
	if (old && sud_get(tid, old))
		/* an older kernel; there the recorder does not use it (plugins/record/start/trap.c) */
		r = errno == EIO ? 0
				 : err_errno(e, ERR_HOST, "cannot read the Syscall User Dispatch of thread %d", tid);
	else if ((!old || old->mode) && sud_set(tid, to))
		r = err_errno(e, ERR_HOST, "cannot set the Syscall User Dispatch of thread %d", tid);
	if (ptrace(PTRACE_DETACH, tid, 0, sig) && !r)
		r = err_errno(e, ERR_INTERNAL, "cannot release thread %d", tid);
	return r;
}

static int suspend_thread(pid_t tid, struct dispatch *d, struct err *e)
{
	const struct sud_config off = {0};
	struct sud_config was = {0};

	if (change(tid, &was, &off, e))
		return -1;
	if (was.mode) {
		d->v = xrealloc(d->v, (d->n + 1) * sizeof(*d->v));
		d->v[d->n++] = (struct dispatch_thread){tid, was};
	}
	return 0;
}

static int suspend_children(pid_t pid, pid_t tid, struct dispatch *d, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/task/%d/children", pid, tid);
	cleanup_buf struct buf b = {0};
	char *p, *end;

	if (read_file(path, &b, e))
		return -1;
	for (p = b.data; p; p = end) {
		pid_t child = (pid_t)strtol(p, &end, 10);

		if (end == p)
			break;
		if (dispatch_suspend(child, d, e))
			return -1;
	}
	return 0;
}

int dispatch_suspend(pid_t pid, struct dispatch *d, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/task", pid);
	cleanup_closedir DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir && errno == ENOENT)
		return 0; /* the process has ended, which CRIU will report */
	if (!dir)
		return err_errno(e, ERR_INTERNAL, "%s", path);
	while ((de = readdir(dir))) {
		pid_t tid = (pid_t)strtol(de->d_name, NULL, 10);

		if (tid > 0 && (suspend_thread(tid, d, e) || suspend_children(pid, tid, d, e)))
			return -1;
	}
	return 0;
}

int dispatch_resume(const struct dispatch *d, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < d->n; i++)
		if (change(d->v[i].tid, NULL, &d->v[i].config, e))
			r = -1;
	return r;
}

void dispatch_fini(struct dispatch *d)
{
	free(d->v);
	*d = (struct dispatch){0};
}

int dispatch_write(const struct dispatch *d, const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "dispatch");
	cleanup_buf struct buf b = {0};

	if (!d->n)
		return 0;
	for (size_t i = 0; i < d->n; i++)
		buf_addf(&b, "%d %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", d->v[i].tid, d->v[i].config.selector,
			 d->v[i].config.offset, d->v[i].config.len);
	return write_file(path, b.data, b.len, 0600, e);
}

int dispatch_read(struct dispatch *d, const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "dispatch");
	cleanup_buf struct buf b = {0};
	struct dispatch_thread t = {.config.mode = 1};
	const char *p;
	int used;

	if (access(path, F_OK))
		return 0;
	if (read_file(path, &b, e))
		return -1;
	for (p = buf_str(&b); *p; p += used) {
		if (sscanf(p, "%d %" SCNx64 " %" SCNx64 " %" SCNx64 "\n%n", &t.tid, &t.config.selector,
			   &t.config.offset, &t.config.len, &used) != 4)
			return err_set(e, ERR_USAGE, "%s is damaged", path);
		d->v = xrealloc(d->v, (d->n + 1) * sizeof(*d->v));
		d->v[d->n++] = t;
	}
	return 0;
}
