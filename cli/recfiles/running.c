/* SPDX-License-Identifier: MIT */
/* running.c: see running.h. */
#include "recfiles/running.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "reclog/image.h"
#include "reclog/reader.h"

/* The PIDs of processes that still record into a recording. */
struct running {
	pid_t *pids;
	size_t n;
};

static bool file_has(pid_t pid, const char *file, const char *text, size_t len)
{
	cleanup_free char *path = str_fmt("/proc/%d/%s", (int)pid, file);
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return !read_file(path, &b, &ignored) && b.len && memmem(b.data, b.len, text, len);
}

/*
 * A recorded process has the control page mapped, from its fork on; between an exec and the recorder's
 * start it has only the environment.
 */
bool running_has_mapped(const char *dir, pid_t pid)
{
	cleanup_free char *control = path_join(dir, "control\n");

	return file_has(pid, "maps", control, strlen(control));
}

static bool records_into(const char *dir, pid_t pid)
{
	cleanup_free char *env = str_fmt(":%s/", dir);
	size_t len = strlen(env);

	if (running_has_mapped(dir, pid) || file_has(pid, "environ", env, len))
		return true;
	env[len - 1] = '\0'; /* a short name is padded with slashes (supervisor/record.c, make_env) */
	return file_has(pid, "environ", env, len);
}

/*
 * This process is the subreaper: while any descendant of the program lives, it has a child. Without one, there is no
 * need to look at all processes.
 */
static bool have_children(void)
{
	pid_t got;

	while ((got = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return got == 0;
}

static struct running find_running(const char *dir)
{
	cleanup_closedir DIR *d = opendir("/proc");
	struct running r = {0};
	struct dirent *de;
	uint64_t pid;

	while (d && (de = readdir(d))) {
		if (str_u64(de->d_name, 10, 1, INT32_MAX, &pid) || (pid_t)pid == getpid() ||
		    !records_into(dir, (pid_t)pid))
			continue;
		r.pids = xreallocarray(r.pids, r.n + 1, sizeof(*r.pids));
		r.pids[r.n++] = (pid_t)pid;
	}
	return r;
}

bool running_any(const char *dir)
{
	struct running r = find_running(dir);

	free(r.pids);
	return r.n != 0;
}

json_t *running_json(const char *dir)
{
	json_t *pids = json_array();
	struct timespec at;
	struct running r;

	clock_gettime(CLOCK_REALTIME, &at);
	r = find_running(dir);
	for (size_t i = 0; i < r.n; i++)
		json_array_append_new(pids, json_integer(r.pids[i]));
	free(r.pids);
	return json_pack("{s:f, s:o}", "at", (double)at.tv_sec + (double)at.tv_nsec / 1e9, "pids", pids);
}

pid_t running_first(const char *dir)
{
	struct running r = find_running(dir);
	pid_t pid = r.n ? r.pids[0] : 0;

	free(r.pids);
	return pid;
}

/* May the logs of this process image still grow? One without an image has just begun. */
static bool may_run(const struct running *r, const char *process, uint32_t ordinal)
{
	cleanup_free char *path = path_join(process, "image");
	struct rec_image img;
	struct err ignored;
	bool found = false;

	if (!r->n)
		return false;
	if (rec_image_read(&img, path, ordinal, &ignored))
		return true;
	for (size_t i = 0; i < r->n; i++)
		/* with a PID namespace it is not known which namespace the number is of, so it may run */
		found |= r->pids[i] == img.head.pid || img.head.cell_pid;
	rec_image_fini(&img);
	return found;
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
	if (log.head.boundary >= sizeof(log.head) && log.head.boundary < log.size)
		it.p = log.base + log.head.boundary;
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
		return 0; /* a damaged log stays as it is, to be examined */
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

int running_trim_logs(const char *dir, unsigned *running, struct err *e)
{
	struct running r = {0};
	int ret = 0;

	if (have_children())
		r = find_running(dir);
	for (unsigned i = 1; i <= RLOG_MAX_PROCESSES && !ret; i++) {
		cleanup_free char *process = str_fmt("%s/p%04u", dir, i);

		if (!path_is_dir(process))
			break; /* ordinals are given in order */
		if (!may_run(&r, process, i))
			ret = trim_process(process, e);
	}
	*running = (unsigned)r.n;
	free(r.pids);
	return ret;
}
