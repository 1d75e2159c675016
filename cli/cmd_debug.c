/* SPDX-License-Identifier: MIT */
/* cmd_debug.c: fredctl debug: GDB on a recording, forwards and backwards. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/bridge.h"
#include "cli/commands.h"
#include "cli/debug_gdb.h"
#include "cli/recarg.h"

static const struct cli_option options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	RECARG_PROCESS_OPTION,
	{0},
};

static pid_t start_gdb(char *script, struct err *e)
{
	char *argv[] = {"gdb", "-q", "-x", script, NULL};
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(e, ERR_HOST, "fork");
	if (pid)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	fprintf(stderr, "fred: cannot start gdb: apt-get install gdb\n");
	_exit(77);
}

/* GDB's connection; -1 when it ended without. */
static int accept_gdb(int listener, pid_t gdb)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, gdb, 0);
	struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -1;
	return p[0].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

static int run_gdb(struct bridge *b, int *code, struct err *e)
{
	cleanup_close int listener = -1;
	cleanup_free char *script = str_fmt("%s/gdb.script", b->dir);
	char path[108];
	int fd, status = 0;
	pid_t gdb;

	listener = bridge_listen(b, "gdb", path, e);
	if (listener < 0)
		return -1;
	gdb = debug_gdb_script(script, path, e) ? -1 : start_gdb(script, e);
	fd = gdb > 0 ? accept_gdb(listener, gdb) : -1;
	unlink(path);
	unlink(script);
	if (gdb < 0)
		return -1;
	if (fd >= 0) {
		int worker = b->worker;

		b->worker = -1;
		bridge_copy(fd, worker);
	}
	while (waitpid(gdb, &status, 0) < 0 && errno == EINTR)
		;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 70;
	return 0;
}

static int exec_debug(struct cli *cli, struct err *e)
{
	struct bridge b;
	json_t *params;
	size_t first;
	int code = 0, r;

	params = recarg_params(cli, 0, 0, &first, e);
	if (!params)
		return -1;
	recarg_option(params, cli, "at", "at");
	if (recarg_process(params, cli, e)) {
		json_decref(params);
		return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	r = bridge_start(&b, cli, params, &code, e);
	if (!r) {
		signal(SIGINT, SIG_IGN); /* it is for GDB */
		r = run_gdb(&b, &code, e);
	}
	bridge_end(&b);
	return r < 0 ? -1 : code;
}

const struct cli_command cmd_debug = {
	.name = "debug",
	.help = "GDB on a recording, forwards and backwards",
	.usage = "[REC] [--at POS] [--process N]",
	.options = options,
	.exec = exec_debug,
	.max_args = 1,
	.word = WORD_REC,
};
