/* SPDX-License-Identifier: MIT */
/*
 * gdb_run.c: see gdb_run.h. However GDB or the daemon ends, the terminal's settings are restored, and no process or
 * file is left.
 */
#include "frontend/gdb_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "bridge/relay.h"
#include "frontend/gdb_setup.h"
#include "frontend/mi_reason.h"
#include "frontend/source_tree.h"
#include "reclog/rec.h"

#define INTERRUPT "\3" /* of the remote protocol */
#define EXIT_NO_GDB 77
/* if GDB has been stopped for this long, it was by a SIGSTOP, and not by a shell's job control */
#define HANGS_S 2

static void watched_signals(const struct gdb_run *how, sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGALRM);
	if (how->state)
		sigaddset(set, SIGQUIT);
}

/* Interrupts the program. GDB's own way fails while the program runs in the background (mi-async). */
static void interrupt(struct bridge *b)
{
	b->heard = true;
	if (b->interrupts && b->worker >= 0 && write(b->worker, INTERRUPT, 1) != 1)
		return; /* it is ending */
}

/* Is GDB stopped? A stopped GDB handles no signal, not even one that is to end it. */
static bool is_stopped(pid_t gdb)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)gdb, &info, WSTOPPED | WNOWAIT | WNOHANG) && info.si_pid &&
	       info.si_status == SIGSTOP;
}

static int on_signal(struct bridge *b, int sig)
{
	if (sig == SIGINT) {
		interrupt(b);
	} else if (sig == SIGCHLD) {
		if (!b->ending)
			alarm(is_stopped(b->gdb) ? HANGS_S : 0);
	} else if (sig == SIGALRM) {
		bool hangs = is_stopped(b->gdb);

		if (hangs && !b->ending)
			fprintf(stderr, "\nfred: gdb hangs: a SIGSTOP has stopped it\n");
		if (hangs || b->ending)
			kill(b->gdb, SIGKILL);
	} else if (sig == SIGQUIT) {
		kill(b->gdb, SIGKILL);
	} else {
		/* GDB handles the signal when it has the answer that it waits for */
		b->ending = true;
		interrupt(b);
		kill(b->gdb, SIGHUP);
		alarm(HANGS_S);
	}
	return 0;
}

static _Noreturn void become_gdb(const struct gdb_run *how, const struct strv *argv, int out, pid_t parent)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, how->mi ? SIGKILL : SIGHUP);
	watched_signals(how, &set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (how->unseen)
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
	if (getppid() != parent || (out >= 0 && dup2(out, 1) < 0))
		_exit(70);
	home_use_python_cache();
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
		return err_fork(e, "fork");
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
	return err_set(e, ERR_HOST, "gdb was killed by SIG%s: the recording is unchanged, start again",
		       sigabbrev_np(WTERMSIG(status)));
}

static bool is_alive(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) && !info.si_pid;
}

static void relay_to(struct bridge *b, int fd)
{
	struct relay relay;
	struct err ignored;

	relay_init(&relay, b, NULL, fd);
	relay.only = true;
	relay_run(&relay, &ignored);
	relay_fini(&relay);
	close(fd);
	close(b->worker);
	b->worker = -1;
}

/* Runs as long as GDB is connected, and then until GDB ends, since the worker may have gone first. */
static void serve(struct bridge *b, bool mi, int *listener)
{
	int fd = bridge_accept(b, *listener, b->gdb);

	if (fd < 0) { /* nobody would accept GDB's connection, and it would wait for an answer for ever */
		close(steal_fd(listener));
		return;
	}
	if (mi)
		bridge_copy(b, fd);
	else
		relay_to(b, fd);
	bridge_wait(b, b->gdb);
}

/* Accepts GDB's connection. -1: GDB has ended, or is to end; -2, with e set: no worker can be started. */
static int accept_gdb(struct bridge *b, int listener, struct err *e)
{
	int fd;

	while ((fd = bridge_accept(b, listener, b->gdb)) == -1 && is_alive(b->gdb))
		if (bridge_restart(b, false, e))
			return -2;
	return fd < 0 ? -1 : fd;
}

/* As serve, for a GDB whose workers are replaced when they die. *prompted: GDB has been at its prompt. */
static int serve_on(struct bridge *b, struct second_ui *second, int listener, bool *prompted, struct err *e)
{
	cleanup_close int fd = accept_gdb(b, listener, e);
	struct relay relay;
	int r = fd == -2 ? -1 : 0;

	*prompted = false;
	if (fd >= 0) {
		relay_init(&relay, b, second, fd);
		r = relay_run(&relay, e);
		*prompted = relay.prompted;
		relay_fini(&relay);
		close(steal_fd(&fd));
	}
	if (r < 0)
		kill(b->gdb, SIGHUP); /* it cannot continue */
	bridge_wait(b, b->gdb);
	return r < 0 ? -1 : 0;
}

/* A GDB has died, or was killed because it hung: prepares the worker for the next one. */
static int replace_gdb(struct bridge *b, int status, bool prompted, struct err *e)
{
	if (!prompted)
		return err_set(e, ERR_HOST, "gdb was killed by SIG%s before it came to its prompt",
			       sigabbrev_np(WTERMSIG(status)));
	fprintf(stderr, "\nfred: gdb was killed by SIG%s; a new one takes over its state\n",
		sigabbrev_np(WTERMSIG(status)));
	return bridge_restart(b, false, e) ? -1 : 1;
}

struct terminal {
	bool is;
	struct termios was;
};

static void terminal_restore(const struct terminal *t)
{
	if (t->is)
		tcsetattr(0, TCSADRAIN, &t->was);
}

/*
 * Libraries that the program opened by a relative name ("./plugin.so") are looked for in the folder where it was
 * started.
 */
static void tell_library_dir(const char *dir, const char *sysroot, struct strv *commands)
{
	struct rec *rec;
	struct err ignored;

	if (!dir || rec_open(dir, &rec, &ignored))
		return;
	if (rec->cwd[0] == '/' && !strchr(rec->cwd, ':'))
		strv_addf(commands, "set solib-search-path %s%s", sysroot && sysroot[1] ? sysroot : "", rec->cwd);
	rec_free(rec);
}

/* Runs one GDB, from its start to its end. 1: another one is to continue. */
static int run_one(struct bridge *b, const struct gdb_run *how, bool first, int *listener, const char *path, int *code,
		   struct err *e)
{
	cleanup_strv struct strv sources = {0}, notes = {0};
	cleanup_free char *tree = str_fmt("%s/sources", b->dir), *sysroot = bridge_sysroot(b);
	struct gdb_setup scripts = {.dir = b->dir,
				    .socket_path = path,
				    .settings = how->settings,
				    .state = how->state,
				    .mi = how->mi || how->unseen,
				    .sources = &sources,
				    .notes = &notes,
				    .tty = how->second ? how->second->tty : NULL,
				    .recording = json_string_value(json_object_get(b->params, "rec")),
				    .sysroot = sysroot};
	cleanup_strv struct strv argv = {0};
	bool prompted = false;
	pid_t filter = 0;
	int status = 0, r;

	source_tree_make(scripts.recording, tree, &sources, &notes);
	tell_library_dir(scripts.recording, sysroot, &sources);
	strv_add(&argv, "gdb");
	r = gdb_setup_scripts(&scripts, &argv, e);
	strv_add_all(&argv, (const char *const *)how->args->s);
	if (first && how->once && how->once->n)
		strv_add_all(&argv, (const char *const *)how->once->s);
	if (!r)
		r = start(b, how, &argv, &filter, e);
	if (!r) {
		if (how->state)
			r = serve_on(b, how->second, *listener, &prompted, e);
		else
			serve(b, how->mi, listener);
		status = wait_for(b->gdb);
	}
	if (filter)
		wait_for(filter);
	gdb_setup_remove(&scripts);
	source_tree_remove(tree);
	if (r)
		return r;
	if (how->state && WIFSIGNALED(status) && !b->ending)
		return replace_gdb(b, status, prompted, e);
	return outcome(status, code, e);
}

int gdb_run(struct bridge *b, const struct gdb_run *how, int *code, struct err *e)
{
	cleanup_close int listener = -1, sig_fd = -1;
	struct terminal terminal = {.is = !how->mi && isatty(0)};
	char path[108];
	sigset_t set;
	int r = 0;

	watched_signals(how, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b->signal_fd = sig_fd = signalfd(-1, &set, SFD_CLOEXEC);
	b->on_signal = on_signal;
	b->interrupts = how->mi;
	terminal.is = terminal.is && !tcgetattr(0, &terminal.was);
	listener = bridge_listen(b, "gdb", path, e);
	if (listener < 0)
		return -1;
	for (bool first = true; first || r > 0; first = false) {
		r = run_one(b, how, first, &listener, path, code, e);
		terminal_restore(&terminal);
	}
	unlink(path);
	b->signal_fd = -1;
	return r;
}
