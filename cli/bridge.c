/* SPDX-License-Identifier: MIT */
/* bridge.c: see bridge.h. */
#include "cli/bridge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "cli/client.h"

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

/* In a child, out of the terminal's process group: a Ctrl-C is for the debugger. */
static int keep(const struct cli *cli, json_t *params, struct err *e)
{
	json_auto_t *result = NULL;

	setpgid(0, 0);
	return client_run(cli, "debug", params, &result, e) ? -1 : 0;
}

/* The worker's connection, or the end of the operation, whichever is first. */
static int wait_worker(struct bridge *b, int listener, struct err *e)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, b->keeper, 0);
	struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	int status;

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "poll");
	if (p[0].revents) {
		b->worker = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		return b->worker < 0 ? err_errno(e, ERR_INTERNAL, "accept") : 0;
	}
	waitpid(b->keeper, &status, 0);
	b->keeper = 0;
	/* it has said why */
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 70;
}

int bridge_start(struct bridge *b, const struct cli *cli, json_t *params, int *code, struct err *e)
{
	cleanup_close int listener = -1;
	char path[108];
	int r;

	*b = (struct bridge){.worker = -1};
	if (make_dir(b, e) || (listener = bridge_listen(b, "worker", path, e)) < 0) {
		json_decref(params);
		return -1;
	}
	json_object_set_new(params, "socket", json_string(path));
	b->keeper = fork();
	if (b->keeper < 0) {
		json_decref(params);
		return err_errno(e, ERR_HOST, "fork");
	}
	if (!b->keeper) {
		b->dir[0] = '\0';
		*code = keep(cli, params, e);
		return 1;
	}
	json_decref(params);
	r = wait_worker(b, listener, e);
	unlink(path);
	if (r > 0) {
		*code = r;
		return 1;
	}
	return r;
}

/* 0: this direction is over. */
static int pass(int from, int to)
{
	char data[65536];
	ssize_t n;

	do
		n = read(from, data, sizeof(data));
	while (n < 0 && errno == EINTR);
	return n > 0 && !write_full(to, data, (size_t)n);
}

void bridge_copy(int a, int b)
{
	struct pollfd p[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
	int going = 1;

	while (going) {
		if (poll(p, 2, -1) < 0) {
			going = errno == EINTR;
			continue;
		}
		if (p[0].revents)
			going = pass(a, b);
		if (going && p[1].revents)
			going = pass(b, a);
	}
	close(a);
	close(b);
}

void bridge_end(struct bridge *b)
{
	int status;

	if (b->worker >= 0)
		close(b->worker);
	b->worker = -1;
	if (b->keeper > 0) {
		kill(b->keeper, SIGTERM); /* cancels the operation */
		while (waitpid(b->keeper, &status, 0) < 0 && errno == EINTR)
			;
	}
	b->keeper = 0;
	if (b->dir[0])
		rmdir(b->dir);
	b->dir[0] = '\0';
}
