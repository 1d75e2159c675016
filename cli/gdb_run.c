/* SPDX-License-Identifier: MIT */
/* gdb_run.c: see gdb_run.h. However GDB or the daemon ends, the terminal is as it was, and nothing is left. */
#include "cli/gdb_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/debug_gdb.h"
#include "cli/mi_reason.h"

#define INTERRUPT "\3" /* of the remote protocol */
#define EXIT_NO_GDB 77

static void watched_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* GDB's own way to interrupt fails while the program runs in the background, as mi-async has it. */
static int on_signal(struct bridge *b, int sig)
{
	if (sig != SIGINT)
		kill(b->gdb, SIGHUP);
	else if (b->interrupts && b->worker >= 0 && write(b->worker, INTERRUPT, 1) != 1)
		return 0; /* it is ending */
	return 0;
}

static _Noreturn void become_gdb(const struct gdb_run *how, const struct strv *argv, int out, pid_t parent)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, how->mi ? SIGKILL : SIGHUP);
	watched_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (getppid() != parent || (out >= 0 && dup2(out, 1) < 0))
		_exit(70);
	execvp(argv->s[0], argv->s);
	fprintf(stderr, "fred: cannot start gdb: apt-get install gdb\n");
	_exit(EXIT_NO_GDB);
}

static int start(struct bridge *b, const struct gdb_run *how, const struct strv *argv, pid_t *filter, struct err *e)
{
	cleanup_close int out = -1;
	pid_t self = getpid();

	*filter = 0;
	if (how->mi && mi_reason_start(filter, &out, e))
		return -1;
	b->gdb = fork();
	if (b->gdb < 0)
		return err_errno(e, ERR_HOST, "fork");
	if (!b->gdb)
		become_gdb(how, argv, out, self);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int outcome(int status, int *code, struct err *e)
{
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 70;
	if (WIFEXITED(status))
		return 0;
	return err_set(e, ERR_HOST, "gdb was killed by SIG%s: the recording is as it was, start again", sigabbrev_np(WTERMSIG(status)));
}

/* While GDB has the connection; then, until GDB ends: the worker may have gone first. */
static void serve(struct bridge *b, int listener)
{
	int fd = bridge_accept(b, listener, b->gdb);

	if (fd < 0)
		return;
	bridge_copy(b, fd);
	bridge_wait(b, b->gdb);
}

int gdb_run(struct bridge *b, const struct gdb_run *how, int *code, struct err *e)
{
	cleanup_strv struct strv argv = {0};
	cleanup_close int listener = -1, sig_fd = -1;
	bool terminal = !how->mi && isatty(0);
	struct termios was;
	pid_t filter = 0;
	char path[108];
	struct debug_gdb scripts = {.dir = b->dir, .socket_path = path, .settings = how->settings};
	sigset_t set;
	int status, r;

	watched_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b->signal_fd = sig_fd = signalfd(-1, &set, SFD_CLOEXEC);
	b->on_signal = on_signal;
	b->interrupts = how->mi;
	terminal = terminal && !tcgetattr(0, &was);
	listener = bridge_listen(b, "gdb", path, e);
	if (listener < 0)
		return -1;
	strv_add(&argv, "gdb");
	r = debug_gdb_scripts(&scripts, &argv, e);
	strv_add_all(&argv, (const char *const *)how->args->s);
	if (!r)
		r = start(b, how, &argv, &filter, e);
	if (!r) {
		serve(b, listener);
		status = wait_for(b->gdb);
		r = outcome(status, code, e);
	}
	if (filter)
		wait_for(filter);
	if (terminal)
		tcsetattr(0, TCSADRAIN, &was);
	unlink(path);
	debug_gdb_remove(&scripts);
	b->signal_fd = -1;
	return r;
}
