/* SPDX-License-Identifier: MIT */
/* bridge.c: see bridge.h. */
#include "bridge/bridge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"

#define PF_EXITING 4u /* linux/sched.h, in proc(5)'s flags */
#define LIFE_MS 30000 /* time for completing a recording */

static int make_dir(struct bridge *b, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(b->dir, sizeof(b->dir), "%s/fred-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	/* a socket's name is short */
	if (n >= (int)sizeof(b->dir))
		strcpy(b->dir, "/tmp/fred-XXXXXX");
	if (mkdtemp(b->dir))
		return 0;
	b->dir[0] = '\0';
	return err_errno(e, ERR_HOST, "make a folder in %s", tmp ? tmp : "/tmp");
}

int bridge_listen(const struct bridge *b, const char *name, char path[108], struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", b->dir, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1)) {
		err_errno(e, ERR_HOST, "listen at %s", a.sun_path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	memcpy(path, a.sun_path, sizeof(a.sun_path));
	return fd;
}

/*
 * Runs the operation in a child process (the runner, bridge.h), which leaves the terminal's process group: a Ctrl-C is
 * for the debugger only.
 */
static int run_operation(const struct cli *cli, pid_t parent, json_t *params, struct err *e)
{
	json_auto_t *result = NULL;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* a daemon that is started from here must not inherit the mask */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* if the parent ends in any way */
	if (getppid() != parent)
		return 0;
	/* if it is cancelled, bridge_end did it */
	return client_run(cli, "debug", params, &result, e) && e->kind != ERR_CANCELLED ? -1 : 0;
}

int bridge_signalled(struct bridge *b, const struct pollfd *p)
{
	struct signalfd_siginfo info;

	if (!p->revents)
		return 0;
	if (read(b->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 1;
	return b->on_signal ? b->on_signal(b, (int)info.ssi_signo) : 1;
}

int bridge_accept(struct bridge *b, int fd, pid_t other)
{
	cleanup_close int runner = (int)syscall(SYS_pidfd_open, b->runner, 0);
	cleanup_close int pidfd = other ? (int)syscall(SYS_pidfd_open, other, 0) : -1;
	struct pollfd p[] = {{.fd = fd, .events = POLLIN},
			     {.fd = b->signal_fd, .events = POLLIN},
			     {.fd = runner, .events = POLLIN},
			     {.fd = pidfd, .events = POLLIN}};

	for (;;) {
		if (poll(p, 4, -1) < 0) {
			if (errno != EINTR)
				return -1;
			continue;
		}
		if (bridge_signalled(b, &p[1]))
			return -2;
		if (p[0].revents)
			return accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (p[2].revents || p[3].revents)
			return -1;
	}
}

void bridge_wait(struct bridge *b, pid_t pid)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = {{.fd = pidfd, .events = POLLIN}, {.fd = b->signal_fd, .events = POLLIN}};

	while (!p[0].revents && !bridge_signalled(b, &p[1]))
		if (poll(p, 2, -1) < 0)
			p[0].revents = p[1].revents = 0;
}

int bridge_next(struct bridge *b, struct err *e)
{
	int fd = bridge_accept(b, b->listener, 0);

	if (fd == -2)
		return 1;
	b->worker = fd;
	return fd < 0 ? err_set(e, ERR_INTERNAL, "the debugging session has ended") : 0;
}

/* Waits for the worker's connection or the end of the operation, whichever is first. */
static int wait_worker(struct bridge *b)
{
	int status;

	b->worker = bridge_accept(b, b->listener, 0);
	/* the runner has drawn a progress line before this one, and completed it */
	b->line.progress.drawn = b->line.progress.on;
	progress_clear(&b->line.progress);
	if (b->worker >= 0)
		return 0;
	waitpid(b->runner, &status, 0);
	b->runner = 0;
	/* the runner has printed the reason */
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 70;
}

/* Returns what bridge_start returns. */
static int begin(struct bridge *b, int *code, struct err *e)
{
	pid_t self = getpid();

	b->runner = fork();
	if (b->runner < 0)
		return err_fork(e, "fork");
	if (!b->runner) {
		bridge_in_child(b, self);
		close(b->listener);
		b->listener = -1;
		*code = run_operation(b->cli, self, json_incref(b->params), e);
		return 1;
	}
	*code = wait_worker(b);
	return *code ? 1 : 0;
}

int bridge_open(struct bridge *b, const struct cli *cli, struct err *e)
{
	*b = (struct bridge){.worker = -1, .signal_fd = -1, .listener = -1, .life = -1, .cli = cli};
	progress_line_init(&b->line, cli);
	return make_dir(b, e);
}

int bridge_start(struct bridge *b, const struct cli *cli, json_t *params, int *code, struct err *e)
{
	int r = bridge_open(b, cli, e);

	b->params = params;
	json_object_set_new(params, "progress", json_boolean(b->line.progress.on));
	if (r || (b->listener = bridge_listen(b, "worker", b->path, e)) < 0)
		return -1;
	json_object_set_new(params, "socket", json_string(b->path));
	snprintf(b->host_files, sizeof(b->host_files), "%s/host-files", b->dir);
	json_object_set_new(params, "host_files", json_string(b->host_files));
	return begin(b, code, e);
}

char *bridge_sysroot(const struct bridge *b)
{
	cleanup_free char *own = path_join(b->dir, "recorded");

	if (!b->host_files[0])
		return NULL;
	if (!access(b->host_files, F_OK))
		return xstrdup("/");
	return path_is_dir(own) ? steal_ptr(&own) : NULL;
}

static void remove_files(struct bridge *b)
{
	cleanup_free char *own = path_join(b->dir, "recorded");
	struct err ignored;

	if (!b->host_files[0])
		return;
	unlink(b->host_files);
	rm_rf(own, &ignored);
}

void bridge_in_child(struct bridge *b, pid_t parent)
{
	memcpy(b->parents_dir, b->dir, sizeof(b->dir));
	b->dir[0] = '\0';
	b->parent = parent;
}

/*
 * When a process is killed, its descriptors are closed first (the child notices that), and only then does the child get
 * another parent: so the parent's flags are looked at, too.
 */
static bool parent_has_ended(const struct bridge *b)
{
	cleanup_free char *path = str_fmt("/proc/%d/stat", (int)b->parent);
	cleanup_buf struct buf stat = {0};
	struct err ignored;
	const char *rest;
	unsigned flags;

	if (getppid() != b->parent || read_file(path, &stat, &ignored))
		return true;
	rest = strrchr(buf_str(&stat), ')');
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & PF_EXITING);
}

/* In a child that outlives its parent: removes the parent's folder, since the parent was killed before it could. */
static void remove_parents_dir(struct bridge *b)
{
	struct err ignored;

	if (b->parents_dir[0] && parent_has_ended(b))
		rm_rf(b->parents_dir, &ignored);
	b->parents_dir[0] = '\0';
}

bool bridge_is_parent(const struct bridge *b)
{
	return b->dir[0] != '\0';
}

/*
 * Waits for the processes that look after live programs. The last one ends by itself, when its
 * program has ended and its recording is complete; after LIFE_MS it is told to end.
 */
static void wait_for_life(struct bridge *b)
{
	struct pollfd p = {.fd = b->life, .events = POLLIN};
	pid_t pid, last = 0;

	for (;;) {
		int r = poll(&p, 1, LIFE_MS);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0 && last)
			kill(last, SIGTERM);
		if (r <= 0 || read(b->life, &pid, sizeof(pid)) != sizeof(pid))
			break;
		last = pid;
	}
	close(b->life);
	b->life = -1;
	if (last != b->runner)
		b->runner = 0; /* the process that is left looks after a program that was detached */
}

static void end_operation(struct bridge *b)
{
	int status;

	if (b->worker >= 0)
		close(b->worker);
	b->worker = -1;
	if (b->life >= 0)
		wait_for_life(b);
	if (b->runner > 0) {
		kill(b->runner, SIGTERM); /* this cancels the operation */
		while (waitpid(b->runner, &status, 0) < 0 && errno == EINTR)
			;
	}
	b->runner = 0;
}

int bridge_restart(struct bridge *b, bool stop, struct err *e)
{
	int code = 0, r;

	end_operation(b);
	json_object_del(b->params, "at");
	json_object_set_new(b->params, "stop", json_boolean(stop));
	r = begin(b, &code, e);
	if (!r || r < 0)
		return r;
	if (bridge_is_parent(b))
		return err_set(e, ERR_INTERNAL, "no other worker could be started");
	if (code < 0)
		out_error(b->cli, e, err_exit_code(e->kind));
	remove_parents_dir(b);
	_exit(code < 0 ? err_exit_code(e->kind) : code);
}

/*
 * Passes data on. Returns 0 if this direction has ended. line: shows the worker's progress, which is removed from what
 * the debugger gets; or NULL.
 */
static int pass(int from, int to, struct progress_line *line)
{
	char data[65536];
	ssize_t n;

	do
		n = read(from, data, sizeof(data));
	while (n < 0 && errno == EINTR);
	return n > 0 && !write_full(to, data, line ? progress_line_take(line, data, (size_t)n) : (size_t)n);
}

int bridge_copy(struct bridge *b, int fd)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN},
			     {.fd = b->worker, .events = POLLIN},
			     {.fd = b->signal_fd, .events = POLLIN}};
	int going = 1, stop = 0;

	while (going && !stop) {
		if (poll(p, 3, -1) < 0) {
			going = errno == EINTR;
			continue;
		}
		if (p[0].revents)
			going = pass(fd, b->worker, NULL);
		if (going && p[1].revents)
			going = pass(b->worker, fd, &b->line);
		stop = bridge_signalled(b, &p[2]);
	}
	close(fd);
	close(b->worker);
	b->worker = -1;
	return stop;
}

void bridge_end(struct bridge *b)
{
	end_operation(b);
	if (b->listener >= 0)
		close(b->listener);
	b->listener = -1;
	json_decref(b->params);
	b->params = NULL;
	progress_line_fini(&b->line);
	if (b->dir[0]) {
		unlink(b->path);
		remove_files(b);
		rmdir(b->dir);
	}
	b->dir[0] = '\0';
	remove_parents_dir(b);
}
