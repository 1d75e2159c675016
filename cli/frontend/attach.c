/* SPDX-License-Identifier: MIT */
/*
 * attach.c: see attach.h. A session that does not run is started by a `fredctl debug` in the background, whose GDB
 * reads its commands from a pipe: it ends when that is closed.
 */
#include "frontend/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "bridge/second_ui.h"
#include "bridge/session.h"
#include "client/paths.h"

#define ATTACH_READY_FD "FRED_READY_FD"

static _Noreturn void become_debug(const char *const *argv, int in, int ready)
{
	int null = open("/dev/null", O_WRONLY);
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", ready);
	setpgid(0, 0); /* so that the terminal sends it no SIGINT */
	if (null < 0 || dup2(in, 0) < 0 || dup2(null, 1) < 0 || fcntl(ready, F_SETFD, 0) ||
	    setenv(ATTACH_READY_FD, fd, 1))
		_exit(70);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(70);
}

/*
 * Starts the session. *ready: a pipe, from which a line with the path of the session's folder can be read once it
 * accepts connections.
 */
static int start(struct attach *a, const char *const *argv, int *ready, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	a->child = fork();
	if (!a->child)
		become_debug(argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	a->hold = in[1];
	*ready = out[0];
	return a->child < 0 ? err_fork(e, "fork") : 0;
}

static int start_for(struct attach *a, const char *id, const char *rec, struct err *e)
{
	const char *resume[] = {"fredctl", "debug", "-q", "--resume", id, NULL};
	const char *begin[] = {"fredctl", "debug", "-q", rec, NULL};
	cleanup_close int ready = -1;
	cleanup_fclose FILE *f = NULL;
	char dir[4096];

	if (start(a, rec ? begin : resume, &ready, e))
		return -1;
	f = fdopen(ready, "r");
	if (f)
		steal_fd(&ready);
	if (!f || !fgets(dir, sizeof(dir), f))
		return err_set(e, ERR_HOST, "the session could not be started"); /* the child has printed why */
	dir[strcspn(dir, "\n")] = '\0';
	str_set(&a->dir, "%s", dir);
	str_set(&a->id, "%s", path_base(dir));
	return 0;
}

bool attach_tell_ready(const char *dir)
{
	const char *text = getenv(ATTACH_READY_FD);
	cleanup_free char *line = str_fmt("%s\n", dir);
	uint64_t fd;

	if (!text || str_u64(text, 10, 3, 1u << 20, &fd))
		return false;
	unsetenv(ATTACH_READY_FD);
	if (!write_full((int)fd, line, strlen(line))) /* if this fails, the parent has gone */
		close((int)fd);
	return true;
}

int attach_open(struct attach *a, const char *id, const char *rec, struct err *e)
{
	cleanup_session_info struct session_info one = {0};
	cleanup_free char *link = NULL;
	cleanup_buf struct buf path = {0};
	struct err ignored;

	*a = (struct attach){.hold = -1};
	if (!rec && (id || session_find(NULL, true, &one, &ignored)) && session_find(id, false, &one, e))
		return -1;
	if (!rec) {
		a->id = xstrdup(one.id);
		a->dir = xstrdup(one.dir);
	}
	if (!one.pid && start_for(a, a->id, rec, e))
		return -1;
	link = path_join(a->dir, SECOND_LINK);
	if (read_file(link, &path, e))
		return err_wrap(e, "session %s", a->id);
	a->path = buf_steal(&path);
	return 0;
}

void attach_close(struct attach *a)
{
	if (a->hold >= 0)
		close(a->hold); /* this ends GDB's input */
	while (a->child > 0 && waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
		;
	free(a->id);
	free(a->dir);
	free(a->path);
	*a = (struct attach){.hold = -1};
}

static _Noreturn void become_repl(const char *repl, const struct attach *a, const char *const *more)
{
	cleanup_strv struct strv argv = {0};

	strv_add_all(&argv, (const char *const[]){repl, a->path, a->dir, NULL});
	strv_add_all(&argv, more);
	execv(repl, argv.s);
	_exit(77);
}

int attach_repl(const struct attach *a, const char *const *more, struct err *e)
{
	cleanup_free char *repl = paths_own(PATHS_REPL, e);
	pid_t pid = repl ? fork() : -1;
	int status = 0;

	if (!repl)
		return -1;
	if (pid < 0)
		return err_fork(e, "fork");
	if (!pid)
		become_repl(repl, a, more);
	signal(SIGINT, SIG_IGN); /* fred-repl handles it */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
}
