/* SPDX-License-Identifier: MIT */
/* live.c: see live.h. A target counts as blocked when /proc/PID/task/TID/syscall says futex. */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "live.h"

static bool blocked(pid_t pid, const char *tid)
{
	cleanup_free char *path = str_fmt("/proc/%d/task/%s/syscall", pid, tid);
	cleanup_buf struct buf b = {0};
	struct err e;

	return !read_file(path, &b, &e) && atoi(buf_str(&b)) == SYS_futex;
}

static int count_blocked(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/task", pid);
	cleanup_closedir DIR *d = opendir(path);
	struct dirent *de;
	int n = 0;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.' && blocked(pid, de->d_name))
			n++;
	return n;
}

pid_t live_start(const char *program, const char *arg, int threads)
{
	struct timespec t0, t;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execl(program, program, arg, (char *)NULL);
		_exit(127);
	}
	clock_gettime(CLOCK_MONOTONIC, &t0);
	while (count_blocked(pid) < threads) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		if (t.tv_sec - t0.tv_sec > 30 || waitpid(pid, NULL, WNOHANG))
			fail_msg("%s did not come to its futex", program);
		sched_yield();
	}
	return pid;
}

void live_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void live_attach(struct live *l, const char *program, const char *arg, int threads)
{
	struct err e = {0};

	l->at = (struct expr_place){0};
	l->pid = live_start(program, arg, threads);
	l->gdb = gdb_new(NULL, &e);
	if (!l->gdb || gdb_attach(l->gdb, l->pid, &e)) {
		live_kill(l->pid);
		fail_msg("%s", e.text);
	}
}

void live_look_from(struct live *l, pid_t tid, const char *func)
{
	int frame = func ? live_frame_of(l->gdb, tid, func) : 0;
	struct err e = {0};

	expr_place_fini(&l->at);
	if (frame < 0 || expr_place_init(&l->at, l->gdb, tid, frame, &e))
		fail_msg("%s: %s", func ? func : "the innermost frame", e.text);
}

void live_in(struct live *l, const char *program, const char *func)
{
	live_attach(l, program, NULL, 1);
	live_look_from(l, 0, func);
}

void live_end(struct live *l)
{
	expr_place_fini(&l->at);
	gdb_free(l->gdb);
	live_kill(l->pid);
}

const char *live_status(pid_t pid, const char *field)
{
	static char out[256];
	cleanup_free char *path = str_fmt("/proc/%d/status", pid);
	cleanup_buf struct buf b = {0};
	struct err e;
	const char *p;

	out[0] = '\0';
	if (read_file(path, &b, &e) || !(p = strstr(buf_str(&b), field)))
		return out;
	p += strlen(field);
	p += strspn(p, ": \t");
	snprintf(out, sizeof(out), "%.*s", (int)strcspn(p, "\n"), p);
	return out;
}

static int read_mem(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct live_memory *m = ctx;
	struct iovec to = {buf, len}, from = {(void *)addr, len};

	return process_vm_readv(m->pid, &to, 1, &from, 1, 0) == (ssize_t)len ? 0 : -1;
}

const struct agent_ops live_agent_ops = {read_mem, NULL};

int live_frame_of(struct gdb *g, pid_t tid, const char *func)
{
	struct gdb_frame *f;
	struct err e;
	int level = -1;
	size_t n;

	if (gdb_backtrace(g, tid, 0, &f, &n, &e))
		fail_msg("%s", e.text);
	for (size_t i = n; i-- > 0;)
		if (str_eq(f[i].func, func))
			level = f[i].level;
	gdb_frames_free(f, n);
	return level;
}
