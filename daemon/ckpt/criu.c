/* SPDX-License-Identifier: MIT */
/*
 * criu.c: dump and restore through libcriu, which runs `criu swrk` as a child of ours and talks to
 * it over a socket. SIGCHLD stays blocked meanwhile: libcriu's waits must not race with our
 * handler's users, and a restored target must not be reaped before its PID is known.
 *
 * Quirk of Linux 6.15 and later: a process can be reaped before the PIDs of its last threads are free again
 * (release_task frees them after it has told the parent). A restore right after that may find a PID in use that no
 * process has; it is tried again.
 *
 * Quirk of libcriu 4.2: when it cannot execute CRIU its child runs exit(), with our exit handlers. So the existence of
 * the program is checked first.
 */
#include <criu/criu.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/plain.h"
#include "cell/userns.h"
#include "ckpt/ckpt.h"
#include "ckpt/criu_log.h"
#include "ckpt/dispatch.h"
#include "ckpt/image_pids.h"
#include "ckpt/threads.h"
#include "launch/launch.h"

#define LOG_ROOM 65536u /* bytes */
#define RESTORE_LOG CELL_RUN_DIR "/restore.log"
/* CRIU's "Unable to create a thread: -17", by its restorer, which knows no strerror: EEXIST. */
#define PID_TAKEN "Unable to create a thread: -17"

enum { LOG_LEVEL_DEFAULT = 2, ERROR_LINES = 4, RESTORE_TRIES = 20 };

/* libcriu 4.2 has it, and no header declares it. */
void criu_local_set_unprivileged(criu_opts *opts, bool unprivileged);

struct criu_request {
	criu_opts *opts;
	int images, work; /* folders */
};

static void request_fini(struct criu_request *r)
{
	if (r->opts)
		criu_local_free_opts(r->opts);
	cleanup_close_p(&r->images);
	cleanup_close_p(&r->work);
}

static int open_folder(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_errno(e, ERR_INTERNAL, "%s", path) : fd;
}

static int request_program(struct criu_request *r, const struct ckpt_env *env, struct err *e)
{
	cleanup_free char *program = env && env->criu ? xstrdup(env->criu) : ckpt_criu_path(e);

	if (!program)
		return -1;
	if (access(program, X_OK))
		return err_errno(e, ERR_HOST, "%s", program);
	if (criu_local_init_opts(&r->opts) || criu_local_set_service_binary(r->opts, program))
		return err_set(e, ERR_INTERNAL, "libcriu: out of memory");
	return 0;
}

/* images: the image folder; work, log: where CRIU writes its log. */
static int request_init(struct criu_request *r, const struct ckpt_env *env, const char *images, const char *work,
			const char *log, struct err *e)
{
	*r = (struct criu_request){.images = -1, .work = -1};
	if (request_program(r, env, e))
		return -1;
	r->images = open_folder(images, e);
	r->work = r->images < 0 ? -1 : open_folder(work, e);
	if (r->work < 0)
		return -1;
	criu_local_set_images_dir_fd(r->opts, r->images);
	criu_local_set_work_dir_fd(r->opts, r->work);
	criu_local_set_log_level(r->opts, env && env->log_level ? env->log_level : LOG_LEVEL_DEFAULT);
	criu_local_set_log_file(r->opts, log);
	/* there are no cgroups of the cell's own to save, and no network to lock */
	criu_local_set_manage_cgroups(r->opts, true);
	criu_local_set_manage_cgroups_mode(r->opts, CRIU_CG_MODE_IGNORE);
	criu_local_set_network_lock(r->opts, CRIU_NETWORK_LOCK_SKIP);
	if (userns_is_own()) {
		criu_local_set_unprivileged(r->opts, true);
		/* where CRIU caches its probes of the kernel; a privileged CRIU uses /run */
		setenv("XDG_RUNTIME_DIR", CELL_RUN_DIR, 1);
	}
	if (env && env->helper_pid && cell_set_last_pid(env->helper_pid, e))
		return -1;
	return 0;
}

static void block_sigchld(sigset_t *old)
{
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, old);
}

/* Looked at here, since CRIU cannot report that its log has no room. */
static bool is_full(const char *log)
{
	cleanup_free char *dir = path_dir(log);
	struct statvfs st;

	return !statvfs(dir, &st) && st.f_bavail * st.f_frsize < LOG_ROOM;
}

/* code: libcriu's negative result. */
static int failed(const char *what, int code, const char *log, struct err *e)
{
	char lines[700];

	if (criu_log_file_errors(log, ERROR_LINES, lines, sizeof(lines)))
		return err_set(e, ERR_INTERNAL, "%s: CRIU: %s", what, lines);
	if (is_full(log))
		return err_set(e, ERR_HOST, "%s: no space is left for %s", what, log);
	if (code == -EBADE)
		return err_set(e, ERR_INTERNAL, "%s: CRIU failed, see %s", what, log);
	return err_set(e, ERR_INTERNAL, "%s: CRIU: %s, see %s", what, strerror(-code), log);
}

/* 0, or -1: the process is gone. */
static int real_ids(pid_t pid, unsigned *uid, unsigned *gid)
{
	cleanup_free char *path = str_fmt("/proc/%d/status", pid);
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *u, *g;

	if (read_file(path, &b, &ignored))
		return -1;
	u = strstr(buf_str(&b), "\nUid:\t");
	g = strstr(buf_str(&b), "\nGid:\t");
	return u && g && sscanf(u, "\nUid:\t%u", uid) == 1 && sscanf(g, "\nGid:\t%u", gid) == 1 ? 0 : -1;
}

/*
 * Sets the real IDs of this thread, whose child CRIU is: without CAP_SYS_RESOURCE, CRIU may read the limits
 * (prlimit(2)) only of a target that has CRIU's own real IDs. The effective IDs, and with them its rights, stay.
 */
static void take_real_ids(unsigned uid, unsigned gid)
{
	if (syscall(SYS_setresgid, gid, -1, -1) || syscall(SYS_setresuid, uid, -1, -1))
		return; /* no right to do this; CRIU then reports what it lacks */
}

static int dump(struct criu_request *r, pid_t pid, const char *log, struct err *e)
{
	unsigned uid = getuid(), gid = getgid(), its_uid = uid, its_gid = gid;
	sigset_t old;
	int code;

	criu_local_set_pid(r->opts, pid);
	criu_local_set_leave_running(r->opts, true);
	block_sigchld(&old);
	if (!real_ids(pid, &its_uid, &its_gid))
		take_real_ids(its_uid, its_gid);
	code = criu_local_dump(r->opts);
	take_real_ids(uid, gid);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return code < 0 ? failed("cannot checkpoint", code, log, e) : 0;
}

int ckpt_dump(const struct ckpt_env *env, pid_t pid, const char *dir, struct err *e)
{
	__attribute__((cleanup(request_fini))) struct criu_request r = {.images = -1, .work = -1};
	__attribute__((cleanup(dispatch_fini))) struct dispatch d = {0};
	cleanup_free char *log = str_fmt("%s/dump.log", dir);
	struct err again;
	int ret;

	if (cell_is_plain())
		return err_set(
			e, ERR_HOST,
			"checkpoints on disk cannot be made without namespaces (in a container, type: " LAUNCH_CONTAINER
			"; on a host, run fredctl as root)");
	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_errno(e, ERR_INTERNAL, "cannot make %s", dir);
	unlink(log);
	if (request_init(&r, env, dir, dir, "dump.log", e))
		return err_wrap(e, "cannot checkpoint process %d", pid);
	ret = dispatch_suspend(pid, &d, e) || dump(&r, pid, log, e) || dispatch_write(&d, dir, e) ? -1 : 0;
	if (dispatch_resume(&d, &again)) {
		*e = again;
		ret = -1;
	}
	return ret ? err_wrap(e, "process %d", pid) : 0;
}

static int restore_once(const struct ckpt_env *env, const char *dir, pid_t *pid, struct err *e)
{
	__attribute__((cleanup(request_fini))) struct criu_request r = {.images = -1, .work = -1};
	sigset_t old;
	int code;

	unlink(RESTORE_LOG);
	if (request_init(&r, env, dir, CELL_RUN_DIR, "restore.log", e))
		return err_wrap(e, "cannot restore %s", dir);
	block_sigchld(&old);
	code = criu_local_restore_child(r.opts);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (code <= 0) {
		failed("cannot restore", code, RESTORE_LOG, e);
		return err_wrap(e, "%s", dir);
	}
	*pid = code;
	return 0;
}

int ckpt_restore(const struct ckpt_env *env, const char *dir, pid_t *pid, struct err *e)
{
	__attribute__((cleanup(image_pids_fini))) struct image_pids p = {0};
	__attribute__((cleanup(dispatch_fini))) struct dispatch d = {0};

	if (dispatch_read(&d, dir, e) || image_pids_read(dir, &p, e) || image_pids_check_free(&p, e))
		return err_wrap(e, "cannot restore %s", dir);
	for (int left = RESTORE_TRIES;; left--) {
		struct err taken;

		if (!restore_once(env, dir, pid, e)) {
			if (!threads_forget_hits(&p, e) && !dispatch_resume(&d, e))
				return 0;
			image_pids_clear(&p);
			return -1;
		}
		image_pids_clear(&p);
		if (left <= 1 || !strstr(e->text, PID_TAKEN) || image_pids_check_free(&p, &taken))
			return -1;
	}
}
